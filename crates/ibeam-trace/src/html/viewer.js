'use strict';
// Shows the rows of a recorded session. Every text becomes a text node: no data is ever parsed as markup, and the content
// security policy of the page forbids it. Rows are parsed and rendered when they come near the visible part of the page.
document.addEventListener('DOMContentLoaded', () => {
  const CHUNK_ROWS = 50;
  const MAX_MARKDOWN_LINE = 4000;
  const MAX_PRINTED_ROWS = 5000;
  const TIME_LINE_STEPS = 1000;
  const MAX_PAUSE_MS = 600000;

  const page = JSON.parse(document.getElementById('page').textContent);
  const lines = document.getElementById('rows').textContent.split('\n').filter(line => line);
  // The data stays in `lines`; a second copy in the document would only cost memory.
  document.getElementById('rows').remove();
  const label = page.labels;
  const parsed = new Array(lines.length);
  const rowAt = index => {
    if (parsed[index] === undefined) {
      // The last line of a page that was cut may be incomplete.
      try { parsed[index] = JSON.parse(lines[index]); } catch { parsed[index] = { k: 'notice', text: '…' }; }
      lines[index] = '';
    }
    return parsed[index];
  };

  const number = new Intl.NumberFormat(page.lang);
  const element = (name, attributes, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
    }
    node.append(...children.filter(child => child !== undefined && child !== null && child !== ''));
    return node;
  };
  const duration = ms => {
    if (ms === undefined || ms === null) return '';
    if (ms < 60000) return `${number.format(Math.round(ms / 100) / 10)} s`;
    const seconds = Math.round(ms / 1000);
    return seconds < 3600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s`
      : `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  };
  const dollars = micros => micros === undefined || micros === null ? ''
    : `$${(micros / 1e6).toFixed(micros < 1e6 ? 4 : 2)}`;
  const time = (ms, full) => {
    if (!ms) return '';
    const iso = new Date(ms).toISOString();
    const shown = full ? `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC` : iso.slice(11, 19);
    return element('time', { datetime: iso }, shown);
  };
  const counted = (count, name) => `${number.format(count)} ${label[count === 1 ? `${name}_one` : name]}`;
  const tokens = use => use && [
    counted(use.input + use.cache_read + use.cache_write, 'tokens_in'),
    use.cache_read ? ` (${number.format(use.cache_read)} ${label.tokens_cached})` : '',
    `, ${counted(use.output, 'tokens_out')}`].join('');
  const joined = parts => parts.filter(part => part).join(' · ');

  // Markdown: the part of it that models write. Links lead only to the web and to mail; images are not loaded.
  const inline = (text, parent) => {
    if (text.split('\n').some(line => line.length > MAX_MARKDOWN_LINE)) { parent.append(text); return; }
    const token = /(`+)(.+?)\1(?!`)|\*\*(\S.*?)\*\*|__(\S.*?)__|\*([^\s*][^*]*)\*|(?<!\w)_([^\s_][^_]*)_(?!\w)|~~(.+?)~~|!?\[([^\]]*)\]\(([^)\s]+)[^)]*\)|(https?:\/\/[^\s<>()`]+)/g;
    let end = 0;
    for (const match of text.matchAll(token)) {
      parent.append(text.slice(end, match.index));
      end = match.index + match[0].length;
      const [all, , code, strong, strong2, emphasis, emphasis2, struck, name, target, address] = match;
      const nested = (tag, content) => { const node = element(tag); inline(content, node); parent.append(node); };
      if (code !== undefined) parent.append(element('code', null, code.trim() || code));
      else if (strong ?? strong2) nested('strong', strong ?? strong2);
      else if (emphasis ?? emphasis2) nested('em', emphasis ?? emphasis2);
      else if (struck) nested('s', struck);
      else {
        const href = target ?? address;
        const isLink = /^(https?:|mailto:)/i.test(href) && !all.startsWith('!');
        parent.append(isLink ? element('a', { href, rel: 'noopener noreferrer nofollow' }, name || href) : all);
      }
    }
    parent.append(text.slice(end));
  };
  const cells = line => line.trim().replace(/^\||\|$/g, '').split('|').map(cell => cell.trim());
  const LIST = /^(\s*)([-*+]|\d{1,9}[.)])\s+/;
  const startsBlock = line => /^\s{0,3}(#{1,6}\s|>|```|~~~)/.test(line) || LIST.test(line);
  const markdown = (text, parent, depth = 0) => {
    const source = text.split('\n');
    for (let at = 0; at < source.length;) {
      const line = source[at];
      let match;
      if (!line.trim()) { at++; continue; }
      if ((match = /^\s{0,3}(```+|~~~+)/.exec(line))) {
        const first = ++at;
        while (at < source.length && !source[at].trim().startsWith(match[1])) at++;
        parent.append(block(source.slice(first, at++).join('\n')));
      } else if ((match = /^\s{0,3}(#{1,6})\s+(.*)/.exec(line))) {
        const heading = element('h' + Math.min(6, match[1].length + 3));
        inline(match[2], heading);
        parent.append(heading);
        at++;
      } else if (/^\s{0,3}([-*_])\s*(\1\s*){2,}$/.test(line)) {
        parent.append(element('hr'));
        at++;
      } else if (line.includes('|') && /^[\s|:-]*-[\s|:-]*$/.test(source[at + 1] ?? '') && source[at + 1].includes('|')) {
        const row = (names, tag) => element('tr', null, ...names.map(cell => {
          const node = element(tag); inline(cell, node); return node;
        }));
        const table = element('table', null, element('thead', null, row(cells(line), 'th')));
        const body = element('tbody');
        for (at += 2; at < source.length && source[at].includes('|'); at++) body.append(row(cells(source[at]), 'td'));
        table.append(body);
        parent.append(element('div', { class: 'table', tabindex: '0' }, table));
      } else if (/^\s{0,3}>/.test(line) && depth < 6) {
        const quoted = [];
        for (; at < source.length && /^\s{0,3}>/.test(source[at]); at++) quoted.push(source[at].replace(/^\s{0,3}> ?/, ''));
        const quote = element('blockquote');
        markdown(quoted.join('\n'), quote, depth + 1);
        parent.append(quote);
      } else if ((match = LIST.exec(line)) && depth < 6) {
        const indent = match[1].length;
        const ordered = /\d/.test(match[2]);
        const list = element(ordered ? 'ol' : 'ul', ordered ? { start: parseInt(match[2], 10) } : null);
        while (at < source.length && (match = LIST.exec(source[at])) && match[1].length === indent && /\d/.test(match[2]) === ordered) {
          const width = match[0].length;
          const item = [source[at++].slice(width)];
          while (at < source.length && (/^\s/.test(source[at]) ? source[at].search(/\S/) > indent : !source[at] && /^\s+\S/.test(source[at + 1] ?? ''))) {
            item.push(source[at].slice(Math.min(width, Math.max(source[at].search(/\S/), 0))));
            at++;
          }
          const entry = element('li');
          if (item.length === 1) inline(item[0], entry); else markdown(item.join('\n'), entry, depth + 1);
          list.append(entry);
        }
        parent.append(list);
      } else {
        const first = at++;
        while (at < source.length && source[at].trim() && !startsBlock(source[at])) at++;
        const paragraph = element('p');
        inline(source.slice(first, at).join('\n'), paragraph);
        parent.append(paragraph);
      }
    }
  };

  // Blocks of calls.
  const block = text => element('pre', { tabindex: '0' }, text);
  const diff = text => {
    const pre = element('pre', { class: 'diff', tabindex: '0' });
    let kind, part = [];
    const flush = () => { if (part.length) pre.append(kind ? element(kind, null, part.join('')) : part.join('')); part = []; };
    for (const line of text.split(/(?<=\n)/)) {
      const isHead = /^(\+\+\+|---) /.test(line);
      const next = isHead ? '' : line.startsWith('+') ? 'ins' : line.startsWith('-') ? 'del' : '';
      if (next !== kind) { flush(); kind = next; }
      part.push(line);
    }
    flush();
    return pre;
  };
  const todos = items => element('ul', { class: 'todos' }, ...items.map(([state, text]) => {
    const mark = { completed: '☑', cancelled: '☒', in_progress: '▶' }[state] ?? '☐';
    return element('li', { class: state }, element('span', { 'aria-label': state.replace('_', ' ') }, mark), ' ', text);
  }));
  const renderBlock = ({ y: kind, l: name, x: text }) => {
    const heading = name && element('h4', null, name);
    const content = kind === 'diff' ? diff(text) : kind === 'todos' ? todos(text)
      : kind === 'error' ? element('p', { class: 'error' }, text)
      : kind === 'markdown' ? element('div') : block(text);
    if (kind === 'markdown') markdown(text, content);
    return [heading, content].filter(node => node);
  };

  // Rows.
  const renderers = {
    run: row => [
      element('h2', null, `${label.run} ${row.run} · ${row.model}`, ' ', time(row.t, true)),
      element('p', { class: 'quiet' }, element('code', null, row.cwd), ' · ', row.mode)],
    prompt: row => [
      element('h3', null, row.withheld ? label.withheld : label.prompt, ' ', time(row.t)),
      element('div', { class: 'prompt' }, ...row.text.map(text => element('p', null, text)),
        ...(row.files ?? []).map(name => element('p', null, element('code', null, name))))],
    answer: row => {
      const text = element('div', { class: 'answer' });
      markdown(row.text, text);
      return [element('h3', null, label.answer, ' ', time(row.t)), text];
    },
    call: row => {
      const name = element('span', { class: 'action' }, row.action);
      const head = [name, ' ', row.target && element('code', null, row.target), ' ',
        element('span', { class: 'quiet' }, joined([duration(row.ms), row.state === 'open' && label.no_result])), ' ', time(row.t)];
      const folded = row.blocks.filter(entry => !entry.o), shown = row.blocks.filter(entry => entry.o);
      const call = folded.length ? element('details', { class: row.state }, element('summary', null, ...head))
        : element('div', { class: `call ${row.state}` }, ...head);
      // The content of a folded call is rendered when it is opened for the first time.
      call.addEventListener('toggle', () => call.append(...folded.flatMap(renderBlock)), { once: true });
      return [call, ...shown.flatMap(renderBlock)];
    },
    request: row => [element('p', { class: 'request' },
      joined([label.request, row.model, tokens(row.usage), dollars(row.cost), duration(row.ms), row.stop]))],
    notice: row => [element('p', { class: 'notice' }, row.text, ' ', time(row.t))],
    end: row => [
      element('p', { class: row.ok ? 'end done' : 'end failed' }, row.ok ? row.text : `✗ ${row.text}`),
      element('p', { class: 'quiet' },
        joined([row.requests && counted(row.requests, 'requests'), tokens(row.usage), dollars(row.cost)])),
      ...(row.files?.length ? [element('h3', null, label.changed), block(row.files.join('\n'))] : [])],
  };
  const renderRow = index => {
    const row = rowAt(index);
    return element('article', {
      id: `r${index}`, class: row.k, tabindex: '-1', 'aria-posinset': index + 1, 'aria-setsize': lines.length,
    }, ...renderers[row.k](row));
  };

  // Chunks of rows, rendered near the visible part.
  const main = document.getElementById('rows-view');
  const chunks = [];
  const renderChunk = position => {
    const chunk = chunks[position];
    if (!chunk || chunk.rendered) return;
    chunk.rendered = true;
    const first = position * CHUNK_ROWS;
    const last = Math.min(first + CHUNK_ROWS, lines.length);
    for (let index = first; index < last; index++) chunk.node.append(renderRow(index));
    chunk.node.style.minHeight = '';
  };
  const observer = new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting) { observer.unobserve(entry.target); renderChunk(+entry.target.dataset.chunk); }
  }, { rootMargin: '1500px 0px' });
  for (let position = 0; position * CHUNK_ROWS < lines.length; position++) {
    const node = element('div', { class: 'chunk', 'data-chunk': position });
    const rows = Math.min(CHUNK_ROWS, lines.length - position * CHUNK_ROWS);
    node.style.minHeight = `${rows * 4}rem`;
    chunks.push({ node, rendered: false });
  }
  main.append(...chunks.map(chunk => chunk.node));
  renderChunk(0);
  chunks.forEach(chunk => observer.observe(chunk.node));

  let current = -1;
  const show = (index, options = {}) => {
    if (index < 0 || index >= lines.length) return;
    const position = Math.floor(index / CHUNK_ROWS);
    [position - 1, position, position + 1].forEach(renderChunk);
    current = index;
    const row = document.getElementById(`r${index}`);
    if (options.open) { const call = row.querySelector('details'); if (call) call.open = true; }
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: options.block ?? 'nearest' });
  };
  const currentRow = () => {
    const focused = document.activeElement?.closest?.('article');
    return focused ? +focused.id.slice(1) : current;
  };
  main.addEventListener('focusin', () => { current = currentRow(); });

  // Search.
  const field = document.getElementById('search');
  const count = document.getElementById('matches');
  const texts = new Array(lines.length);
  const strings = value => typeof value === 'string' ? value
    : Array.isArray(value) ? value.map(strings).join('\n')
    : value && typeof value === 'object' ? Object.entries(value).map(([key, part]) => 'kylo'.includes(key) ? '' : strings(part)).join('\n') : '';
  const textOf = index => texts[index] ??= (row => [row.action, row.target, row.model, strings(row.text), row.cwd, strings(row.files),
    ...(row.blocks ?? []).map(entry => strings(entry.x))].filter(part => part).join('\n').toLowerCase())(rowAt(index));
  let matches = [], match = -1, wanted = '';
  const highlight = () => {
    if (!window.Highlight || !CSS.highlights) return;
    CSS.highlights.delete('match');
    const row = match >= 0 && document.getElementById(`r${matches[match]}`);
    if (!row || !wanted) return;
    const ranges = [];
    const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode()) && ranges.length < 1000;) {
      const text = node.data.toLowerCase();
      // A few letters change their length in lower case; their nodes are not marked.
      if (text.length !== node.data.length) continue;
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        ranges.push(range);
      }
    }
    CSS.highlights.set('match', new Highlight(...ranges));
  };
  const showMatch = step => {
    if (matches.length) {
      match = (match + step + matches.length) % matches.length;
      const hadFocus = document.activeElement === field;
      show(matches[match], { open: true, block: 'center' });
      if (hadFocus) field.focus();
      // A call that was opened renders its content in its `toggle` event.
      setTimeout(highlight, 50);
    }
    count.textContent = wanted ? `${matches.length ? number.format(match + 1) : 0} / ${number.format(matches.length)}` : '';
  };
  const search = () => {
    wanted = field.value.trim().toLowerCase();
    matches = [];
    for (let index = 0; wanted && index < lines.length; index++) if (textOf(index).includes(wanted)) matches.push(index);
    match = -1;
    showMatch(1);
    if (!matches.length) highlight();
  };
  let waiting;
  field.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(search, 150); });
  field.addEventListener('keydown', event => {
    if (event.key === 'Enter') { event.preventDefault(); if (field.value.trim().toLowerCase() === wanted) showMatch(event.shiftKey ? -1 : 1); else search(); }
    if (event.key === 'Escape') { field.value = ''; search(); if (current >= 0) show(current); }
  });

  // Contents, time line and totals, from an index of all rows.
  const stops = [];
  const addContents = () => {
    const list = document.getElementById('contents');
    let failed, run;
    rowsDone.forEach(([index, row]) => {
      if (row.k === 'call') { if (row.state !== 'done' && failed) failed.count++; return; }
      if (row.k === 'end') { run?.append(' ', element('span', { class: 'failures' }, '✗', element('span', { class: 'hidden' }, ` ${label.failed_run}`))); return; }
      stops.push(index);
      const text = row.k === 'run' ? `${label.run} ${row.run} · ${row.model}` : (row.text[0] ?? '').trim().split('\n')[0].slice(0, 100);
      const link = element('a', { href: `#r${index}` }, text || '…');
      link.addEventListener('click', event => { event.preventDefault(); show(index, { block: 'start' }); });
      failed = { count: 0, item: element('li', { class: row.k }, link) };
      list.append(failed.item);
      if (row.k === 'run') run = failed.item;
      marks.push(failed);
    });
    for (const { count: calls, item } of marks) {
      if (calls) item.append(' ', element('span', { class: 'failures' }, `✗ ${number.format(calls)}`, element('span', { class: 'hidden' }, ` ${label[calls === 1 ? 'failed_calls_one' : 'failed_calls']}`)));
    }
  };
  const rowsDone = [], marks = [], spans = [];
  const totals = { requests: 0, cost: null, input: 0, output: 0, cache_read: 0, cache_write: 0, calls: 0, failed: 0, model: 0, tools: 0 };
  const addTimeLine = () => {
    const begins = Math.min(...spans.map(span => span[0])), ends = Math.max(...spans.map(span => span[1]));
    if (!spans.length || !(ends > begins)) return;
    // Each step has the time of requests, the time of calls, and whether a call failed.
    const times = [1, 2].map(() => new Array(TIME_LINE_STEPS).fill(0));
    const failed = new Array(TIME_LINE_STEPS).fill(false), firstRow = new Array(TIME_LINE_STEPS).fill(-1);
    const ordered = spans.slice().sort((a, b) => a[0] - b[0]);
    // Long pauses, such as those between runs, would hide everything else: each one is shown as a second.
    let shift = 0, reached = begins;
    const placed = ordered.map(([start, end, kind, index]) => {
      if (start - reached > MAX_PAUSE_MS) shift += start - reached - 1000;
      reached = Math.max(reached, end);
      return [start - shift, end - shift, kind, index];
    });
    const scale = TIME_LINE_STEPS / Math.max(1, reached - shift - begins);
    for (const [start, end, kind, index] of placed) {
      const from = Math.min(TIME_LINE_STEPS - 1, Math.floor((start - begins) * scale));
      const to = Math.min(TIME_LINE_STEPS - 1, Math.floor((end - begins) * scale));
      for (let at = from; at <= to; at++) {
        times[kind === 1 ? 0 : 1][at] += Math.max(1, (end - start) / (to - from + 1));
        failed[at] ||= kind === 3;
        if (firstRow[at] < 0) firstRow[at] = index;
      }
    }
    const name = 'http://www.w3.org/2000/svg';
    const image = document.createElementNS(name, 'svg');
    const summary = joined([`${label.model_time} ${duration(totals.model)}`, `${label.tool_time} ${duration(totals.tools)}`]);
    image.setAttribute('viewBox', `0 0 ${TIME_LINE_STEPS} 20`);
    image.setAttribute('preserveAspectRatio', 'none');
    image.setAttribute('role', 'img');
    image.setAttribute('aria-label', `${label.time_line}: ${summary}`);
    const paint = (kindAt, y, height) => {
      for (let from = 0; from < TIME_LINE_STEPS;) {
        const kind = kindAt(from);
        let to = from;
        while (to < TIME_LINE_STEPS && kindAt(to) === kind) to++;
        if (kind) {
          const part = document.createElementNS(name, 'rect');
          for (const [key, value] of [['x', from], ['width', to - from], ['y', y], ['height', height], ['class', `step${kind}`]]) part.setAttribute(key, value);
          image.append(part);
        }
        from = to;
      }
    };
    paint(at => times[0][at] || times[1][at] ? (times[0][at] >= times[1][at] ? 1 : 2) : 0, 0, 20);
    paint(at => failed[at] ? 3 : 0, 15, 5);
    image.addEventListener('click', event => {
      const box = image.getBoundingClientRect();
      let at = Math.floor((event.clientX - box.left) / box.width * TIME_LINE_STEPS);
      while (at > 0 && !(firstRow[at] >= 0)) at--;
      if (firstRow[at] >= 0) show(firstRow[at], { block: 'start' });
    });
    document.getElementById('time-line').append(image, element('p', { class: 'quiet' }, summary));
  };
  const addTotals = () => {
    document.getElementById('totals').textContent = joined([
      totals.requests && counted(totals.requests, 'requests'),
      totals.input + totals.cache_read + totals.cache_write + totals.output ? tokens(totals) : '',
      dollars(totals.cost),
      totals.calls && counted(totals.calls, 'calls'),
      totals.failed && counted(totals.failed, 'failed_calls')]);
  };
  const indexRow = index => {
    const row = rowAt(index);
    if (row.k === 'run' || row.k === 'prompt' || (row.k === 'end' && !row.ok)) rowsDone.push([index, row]);
    if (row.k === 'call') {
      rowsDone.push([index, row]);
      totals.calls++;
      totals.failed += row.state !== 'done';
      totals.tools += row.ms ?? 0;
      if (row.t) spans.push([row.t, row.t + (row.ms ?? 0), row.state === 'done' ? 2 : 3, index]);
    }
    if (row.k === 'request') {
      totals.model += row.ms ?? 0;
      if (row.t) spans.push([row.t - (row.ms ?? 0), row.t, 1, index]);
    }
    if (row.k === 'end') {
      totals.requests += row.requests ?? 0;
      if (row.cost !== undefined && row.cost !== null) totals.cost = (totals.cost ?? 0) + row.cost;
      for (const key of ['input', 'output', 'cache_read', 'cache_write']) totals[key] += row.usage?.[key] ?? 0;
    }
  };
  const buildIndex = from => {
    const until = Math.min(from + 5000, lines.length);
    for (let index = from; index < until; index++) indexRow(index);
    if (until < lines.length) { setTimeout(buildIndex, 0, until); return; }
    addContents();
    addTimeLine();
    addTotals();
    const linked = /^#r(\d+)$/.exec(location.hash);
    if (linked) show(+linked[1], { block: 'start' });
    document.documentElement.dataset.ready = lines.length;
  };

  // Keyboard and buttons.
  const help = document.getElementById('help');
  const step = (list, direction) => {
    const at = currentRow();
    const next = direction > 0 ? list.find(index => index > at) : list.findLast(index => index < at);
    if (next !== undefined) show(next, { block: 'start' });
  };
  const toggle = () => { const call = document.getElementById(`r${currentRow()}`)?.querySelector('details'); if (call) call.open = !call.open; };
  const themes = ['', 'dark', 'light'];
  const changeTheme = () => {
    const root = document.documentElement;
    const theme = themes[(themes.indexOf(root.dataset.theme ?? '') + 1) % themes.length];
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  };
  const keys = {
    j: () => show(currentRow() + 1), k: () => show(Math.max(0, currentRow() - 1)),
    J: () => step(stops, 1), K: () => step(stops, -1),
    o: toggle, n: () => showMatch(1), N: () => showMatch(-1), '/': () => field.focus(), t: changeTheme,
    '?': () => help.open ? help.close() : help.showModal(),
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target === field || !keys[event.key] || !Object.hasOwn(keys, event.key)) return;
    if (help.open && event.key !== '?') return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const [id, action] of [['next', keys.n], ['previous', keys.N], ['theme', changeTheme], ['keys', keys['?']]]) {
    document.getElementById(id).addEventListener('click', action);
  }
  addEventListener('beforeprint', () => {
    if (lines.length <= MAX_PRINTED_ROWS) chunks.forEach((chunk, position) => renderChunk(position));
  });
  document.getElementById('viewer').hidden = false;
  setTimeout(buildIndex, 0, 0);
});
