# Português. Referência: en.ftl.

## Lines of `--output-format text`
action-read = Leu o arquivo
    .failed = Não conseguiu ler o arquivo
    .refused = Não teve permissão para ler o arquivo
action-edit = Editou o arquivo
    .failed = Não conseguiu editar o arquivo
    .refused = Não teve permissão para editar o arquivo
action-create = Criou um novo arquivo
    .failed = Não conseguiu gravar o arquivo
    .refused = Não teve permissão para gravar o arquivo
action-shell = Executou um comando no terminal
    .failed = Um comando no terminal falhou
    .refused = Não teve permissão para executar um comando no terminal
action-background = Iniciou um comando em segundo plano
    .failed = Um comando em segundo plano falhou
    .refused = Não teve permissão para iniciar um comando em segundo plano
action-delete = Excluiu o arquivo
    .failed = Não conseguiu excluir o arquivo
    .refused = Não teve permissão para excluir o arquivo
action-search = Pesquisou nos arquivos
    .failed = Não conseguiu pesquisar nos arquivos
    .refused = Não teve permissão para pesquisar nos arquivos
action-find = Encontrou arquivos
    .failed = Não conseguiu encontrar arquivos
    .refused = Não teve permissão para encontrar arquivos
action-list = Listou o diretório
    .failed = Não conseguiu listar o diretório
    .refused = Não teve permissão para listar o diretório
action-todos = Atualizou a lista de tarefas
    .failed = Não conseguiu atualizar a lista de tarefas
    .refused = Não teve permissão para atualizar a lista de tarefas
action-fetch = Obteve uma página da web
    .failed = Não conseguiu obter uma página da web
    .refused = Não teve permissão para obter uma página da web
action-web-search = Pesquisou na web
    .failed = Não conseguiu pesquisar na web
    .refused = Não teve permissão para pesquisar na web
action-mcp = Chamou uma ferramenta MCP
    .failed = A ferramenta MCP falhou
    .refused = Não teve permissão para chamar a ferramenta MCP
action-task = Executou um subagente
    .failed = O subagente falhou
    .refused = Não teve permissão para executar um subagente
action-other = Chamou a ferramenta `{ $tool }`
    .failed = A ferramenta `{ $tool }` falhou
    .refused = Não teve permissão para chamar a ferramenta `{ $tool }`
action-with-detail = { $action }: { $detail }

## Failures: usage
reason-usage = { $detail }
cli-line-usage = { $detail }
    .hint = `ibeam help flags` mostra as opções, `ibeam help commands` os comandos
cli-command-usage = { $detail }
    .hint = `{ $command } --help` mostra os argumentos e as opções
cli-mistyped-command = `{ $word }` não é um comando; é parecido com `{ $near }`
    .hint = você quis dizer `ibeam { $near }`?
    .hint-prompt = para enviá-lo como prompt: `ibeam -p { $word }`, ou escreva mais palavras
cli-conversation-command = `{ $word }` não é um comando; em uma conversa existe `{ $near }`
    .hint = `ibeam` inicia uma conversa; digite `{ $near }` nela
    .hint-prompt = para enviá-lo como prompt: `ibeam -p { $word }`, ou escreva mais de uma palavra
cli-unknown-setting = a configuração tem o ajuste desconhecido `{ $key }` (`{ $place }`)
    .hint = corrija-o ou apague-o; `ibeam help configuration` lista os ajustes
cli-unknown-topic = `{ $word }` não é um comando nem um tópico
    .hint = `ibeam help topics` lista os tópicos, `ibeam help commands` os comandos
cli-mistyped-topic = `{ $word }` não é um comando nem um tópico
    .hint = você quis dizer `ibeam help { $near }`?
    .hint-topics = `ibeam help topics` lista os tópicos, `ibeam help commands` os comandos
cli-not-a-command = `{ $word }` não é um comando
    .hint = `ibeam help flags` mostra as opções, `ibeam help commands` os comandos
    .hint-prompt = para enviá-lo como prompt: `ibeam -p { $word }`, ou escreva mais de uma palavra
cli-resume-in-prompt = `resume` depois de `-p` faz parte do prompt
    .hint = para continuar a sessão: `ibeam resume { $session } -p PROMPT`
    .hint-prompt = para enviá-lo como prompt, ponha `--` antes: `ibeam -p -- resume …`
reason-empty-prompt = o prompt está vazio
    .hint = passe-o como argumento, `ibeam -p "…"`, ou pelo stdin
reason-format-without-print = `--output-format` só é válido ao imprimir
    .hint = adicione `--print`, ou ligue stdin ou stdout a um pipe
reason-not-text = { $what } não é texto UTF-8 sem caracteres NUL
    .hint = converta-o antes para UTF-8, por exemplo com `iconv`
reason-input-line = a linha { $line } de stdin não é uma mensagem válida: { $detail }
    .hint = `ibeam schema --format input` descreve as linhas; retome a sessão com as que faltam
reason-invalid-json-schema = `{ $path }` não é um JSON Schema válido ({ $place }): { $detail }
    .hint = use um arquivo com JSON Schema 2020-12 cujas referências fiquem dentro do arquivo
reason-unsupported = esta versão não aceita { $what }
    .hint = `ibeam help flags` mostra o que ela sabe fazer

## Failures: keys, models, requests
reason-no-key = não há chave de API para `{ $provider }`
    .hint = defina `${ $variable }` ou execute `ibeam login { $provider }`
    .hint-local = { $embedded ->
        [yes] `--model embedded` usa o modelo embutido, que não precisa de chave
       *[no] `ibeam setup` instala um modelo pequeno que não precisa de chave
    }
reason-no-model = nenhuma chave está definida nem guardada, portanto nenhum modelo pode ser usado
    .hint = defina uma variável como `$ANTHROPIC_API_KEY` ou execute `ibeam login PROVIDER`; `ibeam models --providers` mostra os provedores
    .hint-server = um servidor nesta máquina não precisa de chave: `--model ollama/NAME`
reason-key-unavailable = `{ $setting }` não forneceu nenhuma chave de API para `{ $provider }`: { $detail }
    .hint = `ibeam config explain` mostra onde `{ $setting }` está definido
reason-key-refused = `{ $provider }` recusou a chave de API: { $detail }
    .hint = `ibeam login { $provider }` guarda outra chave; `ibeam status` diz qual está em uso
reason-key-refused-of-source = `{ $provider }` recusou a chave de API de `{ $source }`: { $detail }
    .hint = altere `{ $source }` ou retire-a; ela tem precedência sobre a chave que `ibeam login { $provider }` guarda
reason-unknown-provider = nenhum provedor se chama `{ $provider }`
    .hint = `ibeam models --providers` mostra os provedores
reason-unknown-model = o provedor `{ $provider }` não conhece o modelo `{ $model }`
    .hint = `--model` escolhe outro; `ibeam models` mostra o que a sua chave pode usar
reason-model-without-provider = nenhum provedor é conhecido para o modelo `{ $model }`
    .hint = indique-o com `--model PROVIDER/NAME`; `ibeam models` mostra os nomes
reason-no-default-model = `{ $provider }` tem uma chave, mas nenhum modelo padrão
    .hint = indique um modelo: `--model { $provider }/NAME`; `ibeam models` mostra os nomes
reason-model-not-installed = o modelo embutido `{ $model }` não está instalado
    .hint = `ibeam setup` o baixa (1,1 GB); uma execução com `--setup` faz isso primeiro
    .hint-provider = para usar um provedor em vez dele, execute `ibeam login PROVIDER`
reason-no-key-and-no-model = nenhuma chave está definida, e o modelo embutido `{ $model }` não está instalado
    .hint-provider = defina uma variável como `$ANTHROPIC_API_KEY` ou execute `ibeam login PROVIDER`; `ibeam models --providers` mostra os provedores
    .hint-server = um servidor nesta máquina não precisa de chave: `--model ollama/NAME`
    .hint = `ibeam setup` baixa o modelo embutido (1,1 GB); uma execução com `--setup` faz isso primeiro
cli-setup-failed = não foi possível instalar o modelo embutido: { $detail }
    .hint = execute `ibeam setup` de novo para continuar, ou escolha uma fonte: `ibeam setup --from registry|hub|FILE`
reason-local-model = o modelo embutido não funciona: { $detail }
    .hint = `ibeam doctor` diz o que falta; `ibeam setup` instala o modelo de novo
reason-no-local-engine = este programa foi compilado sem o modelo embutido
    .hint = escolha um provedor com `ibeam login PROVIDER`, ou compile-o com o recurso `embedded`
reason-bad-request = `{ $provider }` rejeitou a requisição: { $detail }
    .hint = mude o que a mensagem indica, ou escolha outro modelo com `--model PROVIDER/NAME`
reason-bad-request-reasoning = `{ $provider }` rejeitou a requisição: { $detail }
    .hint = omita `--effort` e `--thinking-budget`, ou escolha outro nível
reason-bad-request-tools = `{ $provider }` rejeitou a requisição: { $detail }
    .hint = `--without TOOL` omite uma ferramenta; `ibeam mcp list-tools` lista as dos servidores
reason-bad-request-media = `{ $provider }` rejeitou a requisição: { $detail }
    .hint = omita a imagem ou o documento
reason-bad-request-output-limit = `{ $provider }` rejeitou a requisição: { $detail }
    .hint = defina um número menor em `limits.max_output_tokens`
reason-context-too-long = a conversa é longa demais para o modelo de `{ $provider }`: { $detail }
    .hint = comece uma nova sessão, ou escolha com `--model` um modelo com mais contexto

## Failures: provider, network
reason-rate-limited = `{ $provider }` limita a frequência das requisições: { $detail }
    .hint = tente mais tarde, ou escolha outro modelo com `--model`
reason-quota-exhausted = o crédito ou a cota em `{ $provider }` esgotou-se: { $detail }
    .hint = verifique a cobrança da sua conta, ou escolha um modelo de outro provedor com `--model` ou `--fallback-model`
reason-provider-failed = `{ $provider }` falhou: { $detail }
    .hint = tente mais tarde, ou escolha outro modelo com `--model`
reason-answer-truncated = a resposta de `{ $provider }` terminou antes de estar completa
    .hint = tente de novo; um proxy no caminho pode estar cortando respostas longas
reason-not-recorded = as gravações não contêm esta solicitação; a mais parecida é `{ $recording }`: { $difference }
    .hint = grave a execução de novo com `--record` em um diretório vazio
reason-unreachable = não foi possível conectar a `{ $address }`: { $detail }
    .hint = verifique o endereço, a rede e `$HTTPS_PROXY`
reason-server-not-running = { $server } não está em execução em `{ $address }`: { $detail }
    .hint = inicie-o, ou indique o endereço com `--endpoint URL`
reason-tls = não há conexão segura com `{ $address }`: { $detail }
    .hint = verifique o relógio e os certificados deste sistema
reason-no-tls = o servidor em `{ $address }` não fala TLS
    .hint = o endereço de um servidor sem TLS começa com `http://`
reason-answer-too-slow = a resposta de `{ $provider }` não estava completa depois de { $seconds } s
    .hint = peça passos menores, ou aumente `timeouts.answer`
reason-stalled = nada veio de `{ $provider }` por { $seconds } s
    .hint = tente mais tarde, ou escolha outro modelo com `--model`

## Failures: limits
reason-parked = a execução está em espera até que `{ $path }` tenha uma resposta
    .hint = `ibeam -p --resume=ID --unpark --park-requests DIR` continua-a quando a resposta chegar
reason-fleet-driver-gone = o controlador da frota já não existe, e sem ele os limites da frota não permitem nenhuma requisição
    .hint = inicie de novo o mesmo `ibeam fleet run` ou `ibeam fleet worker`; ele retoma a execução
reason-turn-limit = { $limit ->
        [one] a execução atingiu seu limite de { $limit } requisição ao modelo
       *[other] a execução atingiu seu limite de { $limit } requisições ao modelo
    }
    .hint = aumente-o com `--max-turns`
    .hint-resume = a sessão foi mantida; continue com `--continue`
reason-token-limit = a execução esgotou os seus { $limit } tokens
    .hint = aumente `--max-tokens`
    .hint-resume = a sessão foi mantida; continue com `--continue`
reason-cost-limit = a execução esgotou o seu orçamento de { $limit } USD
    .hint = aumente `--max-cost`
    .hint-resume = a sessão foi mantida; continue com `--continue`
reason-tool-call-limit = { $limit ->
        [one] a execução esgotou a sua { $limit } chamada de ferramentas
       *[other] a execução esgotou as suas { $limit } chamadas de ferramentas
    }
    .hint = aumente `--max-tool-calls`
    .hint-resume = a sessão foi mantida; continue com `--continue`
reason-loop-guard = { $count ->
        [one] o modelo chamou `{ $tool }` { $count } vez com os mesmos argumentos e o mesmo resultado
       *[other] o modelo chamou `{ $tool }` { $count } vezes com os mesmos argumentos e o mesmo resultado
    }
    .hint = formule a tarefa de outro modo, ou escolha outro modelo com `--model`
reason-empty-answer = o modelo não deu texto nem chamada de ferramenta, mesmo ao ser perguntado de novo
    .hint = formule a tarefa de outro modo, ou escolha outro modelo com `--model`
reason-output-limit = o limite de saída cortou a resposta do modelo repetidas vezes
    .hint = peça passos menores, ou escolha outro modelo com `--model`
reason-answer-paused = o serviço pausou a resposta { $count } vezes seguidas e nunca a concluiu
    .hint = formule a tarefa de outro modo, ou escolha outro modelo com `--model`
reason-invalid-arguments = os argumentos das chamadas de `{ $tool }` não eram JSON válido em { $count } respostas seguidas
    .hint = peça passos menores, ou escolha outro modelo com `--model`
reason-refused-with-message = o modelo se recusou a responder: { $message }
    .hint = formule a tarefa de outro modo, ou escolha outro modelo com `--model`
reason-refused-in-category = o modelo se recusou a responder ({ $category }): { $message }
    .hint = formule a tarefa de outro modo, ou escolha outro modelo com `--model`
reason-refused = o modelo se recusou a responder
    .hint = formule a tarefa de outro modo, ou escolha outro modelo com `--model`
reason-prompt-refused = o hook `{ $hook }` recusou a mensagem: { $detail }
    .hint = formule a mensagem de outro modo; `ibeam help hooks` indica os arquivos que configuram hooks
reason-timed-out = a execução durou mais de { $seconds } s
    .hint = aumente `--timeout`
    .hint-resume = a sessão foi mantida; continue com `--continue`
reason-denied = { $count ->
        [one] { $count } chamada de ferramenta foi recusada
       *[other] { $count } chamadas de ferramenta foram recusadas
    }
    .hint = os avisos dizem o motivo; `ibeam policy test` explica cada decisão
reason-tool-errors = { $count ->
        [one] { $count } chamada de ferramenta falhou
       *[other] { $count } chamadas de ferramenta falharam
    }
    .hint = `--output-format stream-json` mostra cada chamada com seu resultado
reason-background-stopped = { $count ->
        [one] { $count } comando ainda estava em segundo plano no fim e foi parado
       *[other] { $count } comandos ainda estavam em segundo plano no fim e foram parados
    }
    .hint = retire `--fail-on background`, ou deixe-os terminar com `--background wait`
reason-no-text = a execução não deu texto, apenas chamadas de ferramenta
    .hint = retire `--fail-on empty` para que isso conte como sucesso
reason-answer-mismatch = { $repairs ->
        [one] a resposta não corresponde ao JSON Schema depois de uma correção: { $detail }
       *[other] a resposta não corresponde ao JSON Schema depois de { $repairs } correções: { $detail }
    }
    .hint = use um esquema mais simples, descreva no prompt a forma exigida ou use outro modelo

## Failures: sessions, files, system
reason-session-damaged = a sessão `{ $session }` está danificada na linha { $line }: { $detail }
    .hint = `ibeam sessions check { $session } --repair` mantém o que está íntegro e separa o resto
    .hint-others = `ibeam sessions list` mostra as outras sessões
reason-unknown-session = a sessão `{ $session }` não existe
    .hint = `ibeam sessions list` mostra as sessões
reason-session-id-too-short = o início `{ $prefix }` de um ID de sessão é curto demais; informe pelo menos { $minimum } caracteres
    .hint = `ibeam sessions list` mostra as sessões
reason-ambiguous-session = vários IDs de sessão começam com `{ $prefix }`: { $sessions }; informe mais caracteres
    .hint = `ibeam sessions list` mostra as sessões
cli-unknown-run = `{ $source }` não tem a execução { $run }; tem { $runs }
    .hint = sem `--run` todas são mostradas
cli-no-session-or-file = `{ $name }` não é uma sessão nem um arquivo
    .hint = `ibeam sessions list` lista as sessões; o começo de um ID precisa de pelo menos 4 caracteres
cli-not-in-quarantine = `{ $id }` não está na quarentena
    .hint = `ibeam quarantine list` mostra os nomes
cli-unknown-worktree = o ibeam não criou nenhum worktree `{ $name }` para este repositório
    .hint = `ibeam worktree list` mostra a lista
cli-worktree-in-use = você está no worktree `{ $name }`
    .hint = remova-o a partir de outro diretório, ou indique um com `--workspace`
cli-worktree-has-changes = o worktree `{ $name }` tem alterações que não estão em nenhum outro lugar: arquivos sem commit: { $uncommitted }, commits não mesclados: { $unmerged }
    .hint = faça commit e merge delas; ou remova-o com `--force`: o ramo permanece, e as alterações sem commit se perdem
cli-worktree-unreadable = não se sabe se o worktree `{ $name }` tem alterações: { $detail }
    .hint = `--force` remove-o mesmo assim; o ramo permanece
cli-origin-unknown = não se sabe de onde veio `{ $id }`
    .hint = `--to PATH` move para outro lugar
cli-nothing-to-undo = a sessão `{ $session }` não tem nada para desfazer
    .hint = há pontos de verificação em repositórios git, para turnos com ferramentas que podem alterar arquivos; `ibeam diff` mostra o que uma sessão alterou; `ibeam undo ID` usa outra sessão, e `ibeam sessions list` as enumera
cli-nothing-to-redo = a sessão `{ $session }` não tem nada para refazer
    .hint = `ibeam undo --redo` reverte o último `ibeam undo` de uma sessão
cli-already-undone = o que a sessão `{ $session }` alterou já foi desfeito
    .hint = `ibeam undo { $session } --redo` restaura
cli-session-held = a sessão `{ $session }` está em uso por `{ $holder }`
    .hint = nessa conversa, `/undo` e `/redo` fazem isso; ou termine-a antes
cli-no-checkpoints = a sessão `{ $session }` alterou arquivos, mas não tem pontos de verificação
    .hint = os pontos de verificação precisam de um repositório git; `ibeam replay { $session }` mostra as alterações
cli-unknown-turn = a sessão `{ $session }` não tem o turno { $turn }; ela tem { $turns }
    .hint = `ibeam replay SESSION` mostra os turnos
cli-no-repository = o espaço de trabalho `{ $path }` não está em nenhum repositório git deste usuário
    .hint = os pontos de verificação precisam do git; para outro espaço de trabalho use `--workspace DIR`
cli-files-changed-since = { $count ->
        [one] `{ $path }` mudou desde então; nada foi restaurado
       *[other] { $count } arquivos mudaram desde então, como `{ $path }`; nada foi restaurado
    }
    .hint = `--force` os sobrescreve; depois `ibeam undo --redo` os traz de volta
cli-files-changed-since-undo = { $count ->
        [one] `{ $path }` mudou desde então; nada foi restaurado
       *[other] { $count } arquivos mudaram desde então, como `{ $path }`; nada foi restaurado
    }
    .hint = `--force` os sobrescreve; `--redo` então indica o commit com o que foi sobrescrito
cli-checkpoint-failed = não é possível usar o ponto de verificação: { $detail }
    .hint = `ibeam doctor` verifica a instalação; os pontos de verificação estão em `checkpoints` do diretório de dados do ibeam
cli-invalid-tasks = { $count ->
        [one] a linha { $line } de `{ $source }` não é uma tarefa válida: { $detail }
       *[other] `{ $source }` tem { $count } tarefas inválidas; a primeira é a linha { $line }: { $detail }
    }
    .hint = corrija o arquivo ou execute as tarefas válidas com `--skip-invalid`; o formato: `ibeam help fleet`
cli-no-tasks = o arquivo de tarefas `{ $source }` não tem tarefas
    .hint = cada linha é um objeto JSON; o formato: `ibeam help fleet`
cli-not-an-export = `{ $source }` não é uma sessão exportada
    .hint = `ibeam sessions export SESSION FILE` grava uma
cli-damaged-export = a sessão exportada em `{ $source }` está incompleta ou foi alterada
    .hint = `ibeam sessions export SESSION FILE` a grava de novo
cli-invalid-hook-input = `{ $place }` não é um objeto JSON
    .hint = o objeto tem os campos do evento que diferem da amostra; `ibeam help hooks` tem um exemplo
cli-no-fleet = não há frota em `{ $directory }`
    .hint = `ibeam fleet run TASKS --dir { $directory }` inicia uma
cli-no-batch-fleet = nenhuma frota foi iniciada com `--batch` em `{ $directory }`
    .hint = `ibeam fleet run TASKS --batch --dir DIR` inicia uma; `ibeam help batch` explica os lotes
cli-fleet-task-changed = a tarefa `{ $task }` difere da que está em `{ $directory }`
    .hint = use outro diretório com `--dir` ou dê outro id à tarefa
cli-fleet-in-use = outro processo executa a frota em `{ $directory }`
    .hint = espere até que termine; `ibeam fleet status { $directory }` mostra o estado
cli-fleet-tasks-failed = { $failed } de { $total } tarefas não passaram
    .hint = `ibeam fleet report { $directory }` mostra as falhas
cli-fleet-not-applied = { $failed } de { $total } alterações não foram aplicadas
    .hint = as linhas acima indicam os motivos; nenhuma foi aplicada em parte
cli-fleet-unfinished = { $unfinished ->
        [one] uma tarefa não terminou: { $detail }
       *[other] { $unfinished } tarefas não terminaram: { $detail }
    }
    .hint = removida a causa, o mesmo comando as retoma
cli-fleet-budget-spent = { $unfinished ->
        [one] uma tarefa não terminou: o orçamento se esgotou
       *[other] { $unfinished } tarefas não terminaram: o orçamento se esgotou
    }
    .hint = `ibeam fleet run` com um `--budget-usd` ou `--budget-tokens` maior as retoma
cli-fleet-waiting = { $waiting ->
        [one] uma tarefa espera um lote
       *[other] { $waiting } tarefas esperam lotes
    }
    .hint = `ibeam fleet poll { $directory }` continua quando houver respostas; com `--wait`, fica até o fim
cli-stream-damaged = `{ $source }` não é um fluxo válido (linha { $line }: { $detail })
    .hint = verifique se é o arquivo certo e se está completo; `ibeam check FILE` mostra os erros de um fluxo do ibeam
reason-retold = { $detail }
    .hint = a última linha do fluxo diz a classe e o código de saída
reason-no-session-to-continue = ainda não há sessão em `{ $cwd }`
    .hint = `ibeam "PROMPT"` sem `--continue` começa uma
    .hint-all = `ibeam sessions list --all` mostra as sessões de todos os diretórios
reason-session-elsewhere = a sessão `{ $session }` pertence ao espaço de trabalho `{ $cwd }`
    .hint = continue-a lá, ou com `--workspace`
reason-no-plan = nenhuma execução da sessão `{ $session }` terminou com um plano
    .hint = crie um antes: `ibeam -p --mode plan "TAREFA"`, e depois `--from-plan` com o id da sessão
reason-invalid-trajectory = `{ $path }` não é uma trajetória no formato ATIF: { $detail }
    .hint = o formato é um objeto JSON com `schema_version`, `agent` e `steps`; `ibeam replay SESSION --output-format atif` grava um
reason-session-busy = a sessão `{ $session }` está em uso por `{ $holder }`
    .hint = espere que termine, ou continue em uma nova sessão com o mesmo histórico: `--fork`
reason-session-leased = a sessão `{ $session }` está em uso por `{ $holder }`, cuja reserva é o arquivo `{ $path }`
    .hint = se esse processo não está mais em execução, remova o arquivo; ou continue em uma nova sessão com o mesmo histórico: `--fork`
reason-session-removed = a sessão desta execução foi removida enquanto ela trabalhava: `{ $path }` não existe mais
    .hint = o que a execução mudou no espaço de trabalho permanece; `--ephemeral` executa sem sessão
reason-input-too-large = o prompt em { $what } ultrapassa { $megabytes } MiB
    .hint = indique no prompt o nome de um arquivo a ler
reason-stdin-silent = stdin não enviou nada nem terminou em { $seconds } s
    .hint = passe o prompt como argumento e feche stdin com `</dev/null`
reason-workspace-gone = o espaço de trabalho `{ $path }` foi removido durante a execução
    .hint-resume = a sessão foi mantida; continue com `--resume` noutro diretório
reason-worktree-setup = o comando de preparação `{ $command }` do worktree falhou (`{ $path }`): { $detail }
    .hint-network = é executado na sandbox, como os comandos do modelo: `--allow-net HOST` permite-lhe um host
    .hint-skip = o worktree mantém-se e a próxima execução repete a preparação; `--skip-worktree-setup` omite-a
reason-no-input = não foi possível ler `{ $path }`: { $detail }
    .hint = verifique o caminho e suas permissões
reason-cannot-create = não foi possível criar `{ $path }`: { $detail }
    .hint = verifique as permissões do diretório e o espaço livre
cli-file-exists = `{ $path }` já existe
    .hint = escolha outro nome ou apague esse arquivo antes
cli-name-taken = `{ $path }` já existe e não é um link deste programa; nada foi mudado
    .hint = mova-o para outro lugar, ou escolha outro diretório e coloque-o antes deste no PATH
reason-io = falha de leitura ou gravação em { $what }: { $detail }
    .hint = verifique o espaço livre e as permissões
reason-output-closed = o leitor de stdout foi embora
    .hint-resume = a sessão foi mantida; continue com `--continue`
reason-system = o sistema recusou { $what }: { $detail }
    .hint = `ulimit -a` mostra os limites de processos e de arquivos abertos
reason-no-sandbox = a sandbox para os comandos não está disponível: { $detail }
    .hint = `--sandbox disabled` dispensa-a; um comando então só é executado se uma regra o permitir (`--allow`, `--force`)
    .hint-doctor = `ibeam doctor --sandbox` diz o que este sistema recusa
reason-untrusted = `{ $what }` está em { $path }, e este espaço de trabalho não é de confiança
    .hint = veja o arquivo e depois use `--trust`
reason-bad-config = a configuração em `{ $place }` está errada: { $detail }
    .hint = `ibeam config explain` diz qual arquivo ou variável define cada valor
reason-bad-json-config = a configuração em `{ $place }` está errada: { $detail }
    .hint = `ibeam help { $page }` descreve este arquivo
reason-unreadable-config = não foi possível ler a configuração `{ $path }`: { $detail }
    .hint = verifique quem pode lê-la; `ibeam config path` mostra os arquivos da configuração
reason-mcp-server-failed = o servidor MCP `{ $server }` não iniciou: { $detail }
    .hint = `ibeam mcp list` mostra qual arquivo o configura; sem `required = true`, as execuções continuam sem o servidor
reason-signalled = interrompido por `{ $signal }`
    .hint-resume = a sessão foi mantida; continue com `--continue`
reason-internal = erro interno: { $detail }
    .hint = é um defeito do ibeam; `ibeam about` imprime o que um relato precisa
failure-retry-after = { $message }; é possível tentar de novo daqui a { $time }
failure-near-name = você quis dizer `{ $near }`?
failure-request-id = o ID da requisição que falhou no provedor é `{ $id }`

## Tabela de falhas
code-failed = a resposta não corresponde ao esquema de --json-schema, nem depois de corrigida
code-usage = opções, pedido vazio, formato sem modo de impressão, ou linha inválida de --input-format stream-json
code-denied = um hook recusou a mensagem; ou uma chamada foi recusada ou falhou, não houve texto, ou ficou trabalho a correr, e --fail-on torna isso uma falha
code-auth = sem chave, ou o fornecedor recusou-a
code-model = modelo desconhecido, ou o modelo integrado não está instalado
code-request = o fornecedor rejeitou o pedido
code-context = a conversa é longa demais para o modelo, mesmo encurtada
code-rate-limited = pedidos a mais, após as novas tentativas, ou cota esgotada
code-provider = o fornecedor falhou, após as novas tentativas
code-network = sem ligação, ou ela caiu
code-tls = sem ligação segura
code-stalled = nada chegou durante demasiado tempo
code-limit = um limite da execução: pedidos, tokens, custo, chamadas, ou a mesma chamada vezes sem conta
code-empty = o modelo não deu texto nem chamada, mesmo quando perguntado de novo
code-refused = o modelo recusou-se
code-timeout = a execução demorou mais do que --timeout
code-sandbox = foi pedida uma sandbox e não está disponível
code-untrusted = o que foi pedido precisa de um espaço de trabalho de confiança
code-too-large = o prompt em stdin é demasiado longo ou não termina
code-data = uma sessão está danificada, ou um arquivo não tem o formato esperado
code-noinput = sessão ou arquivo desconhecido, o espaço de trabalho desapareceu, ou stdin não terminou
code-internal = um erro do ibeam
code-os = o sistema recusou um processo, thread ou arquivo
code-cantcreat = não é possível criar um diretório ou arquivo
code-io = o disco está cheio, ou o leitor de stdout foi-se embora
code-busy = outro processo tem a sessão
code-config = a configuração está errada
code-parked = a execução espera a resposta a uma requisição (--park-requests)
code-signal = um sinal pediu para parar

## Warnings
notice-embedded-model = quem responde é o modelo embutido pequeno `{ $model }`; escolha outro com `--model` ou `ibeam login PROVIDER`
notice-embedded-model-with-key = { $message }; { $detail }
notice-effort-ignored = `--effort` e `--thinking-budget` não têm efeito: o modelo `{ $model }` não tem ajuste de raciocínio
notice-effort-changed = o modelo `{ $model }` não aceita o esforço `{ $asked }`; `{ $used }` é usado
notice-default-model-replaced = o serviço não oferece o modelo padrão `{ $from }`; `{ $to }` é usado em seu lugar
unused-key = `${ $variable }` está definida, mas esta versão não consegue usar diretamente uma chave de { $service }: use os modelos pelo OpenRouter (`ibeam login openrouter`) ou, se ele tem uma API de Chat Completions, defina `base_url` e `key_variable` em `[providers.NAME]`
notice-stdin-ignored = stdin não enviou nada em { $seconds } s e foi ignorado; `--stdin ignore` evita a espera
notice-arguments-ignored = estes argumentos de `{ $dialect }` não têm equivalente no ibeam e foram ignorados: { $arguments }
notice-budget-not-enforced = o limite do custo não é aplicado: o preço de `{ $model }` não é conhecido; defina `models.prices."{ $model }" = "IN/OUT"` em dólares por um milhão de tokens
notice-session-gaps = { $count ->
        [one] no diário desta sessão faltam, repetem-se ou estão fora de lugar eventos em { $count } lugar: a conversa pode estar incompleta; `ibeam sessions check` mostra os detalhes
       *[other] no diário desta sessão faltam, repetem-se ou estão fora de lugar eventos em { $count } lugares: a conversa pode estar incompleta; `ibeam sessions check` mostra os detalhes
    }
notice-session-lease-file = o sistema de arquivos desta sessão não consegue bloquear arquivos; `{ $path }` protege a sessão de um segundo escritor enquanto esta execução durar
notice-session-unsynced = a execução deixou de esperar pelo disco; uma sessão retomada pode não ter os seus últimos registros
notice-calls-denied = { $count ->
        [one] { $count } chamada de ferramenta foi recusada
       *[other] { $count } chamadas de ferramenta foram recusadas
    }
notice-unknown-stop-reason = o provedor terminou a resposta pelo motivo desconhecido `{ $word }`; suas chamadas estão completas e foram aceitas
notice-answer-cut = o limite de saída cortou a resposta; pediu-se ao modelo que continuasse
notice-answer-interrupted = { $message }; pediu-se ao modelo que continuasse a resposta a partir daí
notice-websocket-unavailable = não é possível usar `{ $provider }` por WebSocket ({ $detail }); os pedidos seguem por HTTP
notice-thinking-refused = `{ $provider }` recusou o raciocínio anterior do modelo; o pedido foi repetido sem ele
notice-tools-refused = `{ $provider }` recusou ferramentas, que a partir de agora são omitidas nesta sessão: { $tools }
notice-tools-beyond-limit = `{ $provider }` aceita no máximo { $limit } ferramentas; estas são omitidas: { $tools }
notice-files-refused = `{ $provider }` recusou arquivos, que a partir de agora são omitidos nesta sessão: { $files }
notice-images-damaged = há imagens danificadas ou incompletas que não são enviadas: { $files }
notice-images-too-large = `{ $provider }` aceita imagens com no máximo { $limit } pixels de lado; estas não são enviadas: { $files }
notice-files-beyond-limit = `{ $provider }` aceita no máximo { $limit } arquivos deste tipo numa conversa; os mais antigos deixam de ser enviados: { $files }
notice-model-fallback = `{ $from }` não está disponível ({ $message }); `{ $to }` assume
notice-fallback-unusable = `{ $model }` não pode ser usado como modelo de reserva: { $message }
notice-answer-paused = o serviço pausou a resposta; ela foi devolvida para ser concluída
notice-empty-answer = a resposta estava vazia; perguntou-se de novo ao modelo
notice-answer-mismatch = a resposta não corresponde ao JSON Schema; pediu-se ao modelo que a corrigisse (correção { $attempt }): { $detail }
notice-repeated-call = { $count ->
        [one] o modelo chamou `{ $tool }` { $count } vez com os mesmos argumentos e o mesmo resultado
       *[other] o modelo chamou `{ $tool }` { $count } vezes com os mesmos argumentos e o mesmo resultado
    }
notice-turns-near = { $percent } % dos pedidos ao modelo desta execução foram usados; foi pedido ao modelo que termine
notice-tokens-near = { $percent } % dos tokens desta execução foram usados; foi pedido ao modelo que termine
notice-cost-near = { $percent } % do orçamento desta execução foi usado; foi pedido ao modelo que termine
notice-calls-near = { $percent } % das chamadas de ferramentas desta execução foram usadas; foi pedido ao modelo que termine
notice-time-near = { $percent } % do tempo desta execução foi usado; foi pedido ao modelo que termine
notice-unknown-config-key = `{ $key }` em `{ $place }` não é um ajuste conhecido e foi ignorado
notice-unknown-config-key-near = `{ $key }` em `{ $place }` não é um ajuste conhecido e foi ignorado; você quis dizer `{ $near }`?
notice-untrusted-config-key = `{ $key }` em `{ $path }` foi ignorado: só um espaço de trabalho confiável pode defini-lo (`--trust`)
notice-forbidden-config-key = `{ $key }` em `{ $path }` foi ignorado: um projeto não pode definir este valor; a configuração do usuário pode
notice-mcp-server-failed = falta o servidor MCP `{ $server }`: { $detail }
notice-mcp-server-untrusted = o servidor MCP `{ $server }` de `{ $path }` não foi iniciado: só um espaço de trabalho confiável pode iniciar programas (`--approve-mcps` ou `--trust`)
notice-mcp-server-unsupported = o servidor MCP `{ $server }` usa o transporte antigo `sse`, que não é aceito; configure a URL de streamable HTTP dele
notice-hook-failed = o hook `{ $hook }` ({ $event }) falhou e a execução continuou sem ele: { $detail }
notice-subagents-untrusted = os subagentes de `{ $path }` não são usados: só os de um espaço de trabalho confiável são (`--trust`)
notice-subagent-definition = a definição de subagente `{ $path }`: { $detail }
notice-hooks-untrusted = os hooks de `{ $path }` não foram executados: só um espaço de trabalho confiável pode executar programas (`--trust`)
notice-hooks-not-run = `{ $path }` tem hooks que esta versão não executa: { $what }
notice-trust-changed = `{ $path }` mudou desde que se confiou neste espaço de trabalho: os seus arquivos não podem ampliar nem executar nada até se voltar a confiar nele (`ibeam trust show`, `--trust`)
notice-trust-not-kept = o que se deu por fiável ou se aprovou só conta nesta execução, porque não foi possível escrever `{ $path }`: { $detail }
notice-trust-unreadable = `{ $path }` não dá confiança a nenhum espaço de trabalho, porque não está como devia: { $detail }
notice-text-file-ignored = `{ $path }` não é usado: { $detail }
notice-texts-cut = longo demais, por isso o modelo recebe apenas uma parte: { $files } (`ibeam context` mostra os tamanhos)
notice-rules-lost = `{ $path }` está vazio ou em falta, mas na última execução continha regras de permissão; agora elas não se aplicam
notice-git-objects-hidden = os comandos não podem ler os objetos do git, por isso a maioria dos comandos git falha: eles contêm `{ $path }`, que os comandos não devem ler (`--allow '{ $rule }'` mostra-os)
notice-checkpoint-skipped = os arquivos não foram salvos antes da primeira alteração, portanto este turno não pode ser desfeito: { $detail }
notice-checkpoint-incomplete = { $count ->
        [one] o ponto de verificação não contém `{ $path }`, que é grande demais ou não pode ser lido
       *[other] o ponto de verificação não contém { $count } arquivos grandes demais ou que não podem ser lidos, como `{ $path }`
    }
notice-worktree-used = esta execução trabalha no worktree do git `{ $path }`, no branch `{ $branch }`
notice-worktree-setup-untrusted = os comandos de preparação de `{ $path }` não foram executados: só um espaço de trabalho confiável pode executar programas (`--trust`)
notice-mcp-tools-changed = as ferramentas do servidor MCP `{ $server }` não são as que foram aprovadas e não serão chamadas: { $tools } (`--approve-mcps` aprova-as)
notice-mcp-tools-left-out = ferramentas do servidor MCP `{ $server }` não são oferecidas, porque o servidor as descreve mal: { $tools }
notice-background-awaited = { $count ->
        [one] à espera do fim de { $count } comando em segundo plano
       *[other] à espera do fim de { $count } comandos em segundo plano
    }
notice-network-denied = um comando falhou, provavelmente porque aqui os comandos não têm rede; `--allow-net example.com:443` permite que alcancem um servidor (troque o exemplo pelo servidor necessário)
notice-write-denied = um comando falhou, provavelmente porque aqui os comandos só escrevem no espaço de trabalho, e não em arquivos protegidos; `--add-dir { $example }` (troque o exemplo pelo diretório necessário) ou a configuração `sandbox.writable` permite escrever em um diretório, e `--allow 'Write(.git/config)'` em um arquivo protegido
notice-socket-denied = um comando falhou, provavelmente porque aqui os comandos não alcançam nenhum serviço desta máquina; `--allow-socket /var/run/docker.sock` permite que se conectem a um socket (troque o exemplo pelo socket necessário)
notice-home-workspace = o espaço de trabalho `{ $path }` contém seu diretório pessoal: os nomes protegidos que os comandos criam em subdiretórios não são procurados, e nenhum ponto de verificação é salvo (`session.cover_home = true` muda ambos; um espaço de trabalho próprio é mais seguro)
notice-protected-paths-restored = comandos alteraram caminhos protegidos, e isso foi desfeito: { $paths } (o que criaram está na quarentena: `ibeam quarantine list`)
notice-protected-paths-appeared = caminhos protegidos surgiram enquanto um comando executava, e o sandbox não viu nenhum comando criá-los: { $paths } (nada foi feito; verifique o que você mesmo não criou)
notice-background-ended = o comando em segundo plano `{ $command }` terminou com o código de saída { $exit_code }
notice-background-stopped = { $count ->
        [one] { $count } comando em segundo plano ainda executava e foi interrompido
       *[other] { $count } comandos em segundo plano ainda executavam e foram interrompidos
    }
compacted = a conversa foi encurtada, de cerca de { $before } para { $after } tokens
retrying = { $message } (tentativa { $attempt }); nova tentativa em { $seconds } s
retrying-at-once = { $message } (tentativa { $attempt }); nova tentativa imediata

## `check`
check-valid = `{ $file }` cumpre o contrato { $contract } (eventos: { $events }, avisos: { $warnings })
check-invalid = `{ $file }` viola o contrato { $contract } (eventos: { $events }, erros: { $errors }, avisos: { $warnings })
check-more-findings = outras constatações, não mostradas: { $count }
convert-lossy = nem tudo de `{ $file }` pode ser dito em { $to }; perdido: { $count }
convert-dropped = omitido: { $key } (vezes: { $count }, primeiro na linha { $line })
convert-changed = alterado: { $key } (vezes: { $count }, primeiro na linha { $line })
convert-joined = unido: { $key } (vezes: { $count }, primeiro na linha { $line })
convert-more-losses = outras perdas, não mostradas: { $count }

## `shim`
shim-created = criado `{ $link }`, que inicia `{ $program }`
shim-unchanged = `{ $link }` já estava lá
shim-in-path = `{ $directory }` está no PATH
shim-not-in-path = `{ $directory }` não está no PATH; os clientes o encontram depois de `{ $command }`
shim-shadowed = no PATH, `{ $name }` é `{ $other }`, que vem antes de `{ $directory }`

## `sessions check`
session-intact = sessão `{ $session }`: íntegra
session-incomplete = sessão `{ $session }`: incompleta
session-damaged = sessão `{ $session }`: danificada
session-repaired = sessão `{ $session }`: reparada
session-unrecoverable = sessão `{ $session }`: nada pôde ser mantido
session-events = eventos: { $count }
session-files = arquivos: { $count } ({ $bytes } bytes)
session-payloads = conteúdos grandes: { $count } ({ $bytes } bytes)
session-unreferenced-payloads = conteúdos que nenhum registro nomeia: { $count } (inofensivos)
session-truncated-record = último registro incompleto: { $bytes ->
        [one] um byte
       *[other] { $bytes } bytes
    } (a próxima execução o separa)
session-gaps = eventos ausentes, repetidos ou fora de lugar: { $count ->
        [one] um lugar
       *[other] { $count } lugares
    } (registros que não couberam em um disco cheio, ou um diário que foi editado)
session-open-calls = chamadas sem resultado: { $count } (a próxima execução avisa o modelo)
session-damage = primeiro dano: `{ $file }`, linha { $line }: { $detail }
session-moved-aside = separado em: `{ $path }`
session-title = sessão `{ $session }`: { $title }
session-directory = diretório: { $path }
session-times = criada: { $created }, último uso: { $updated }
session-stored = tamanho: { $size }
session-runs = execuções: { $count }, pedidos ao modelo: { $requests }, chamadas: { $calls }
session-tokens = tokens lidos: { $read }, escritos: { $written }
session-cost = custo: ${ $cost }
session-no-price = custo: desconhecido, porque não há preço conhecido para { $models }; `models.NAME.prices` na configuração define um
session-changed-files = arquivos alterados: { $count }
session-confirm-removal = sessões a remover: { $count }. Remover? [y/N]
session-removed = removida: { $session }
session-in-use = não removida, porque { $holder } a usa: { $session }
session-nothing-to-remove = não há nada a remover
session-none-here = nenhuma sessão deste diretório está guardada; `--all` lista as de outros diretórios, `ibeam "PROMPT"` inicia uma
session-none = nenhuma sessão está guardada; `ibeam "PROMPT"` inicia uma
session-no-match-here = nenhuma sessão deste diretório contém `{ $words }`; `--all` procura nas de outros diretórios
session-no-match = nenhuma sessão contém `{ $words }`
session-renamed = renomeada: { $session } → { $title }
session-exported = exportada: { $session } → { $path }
session-checkpoints-left = os pontos de verificação de `{ $path }` não foram removidos: { $detail }
session-imported = importada: { $session } (eventos: { $count })
undo-restores = restaurar: { $path }
undo-removes = remover: { $path }
undo-keeps = manter: { $path } (era ignorado ou grande demais para ser salvo)
undo-changed-since = mudou desde então: `{ $path }`
undo-overwritten = sobrescrito: `{ $path }`; `git --git-dir={ $directory } show { $commit }:{ $path }` mostra o que havia
undo-unchanged = os arquivos já estão como estavam
undo-done = { $count ->
        [one] { $count } arquivo; para reverter isto: { $command }
       *[other] { $count } arquivos; para reverter isto: { $command }
    }
undo-redone = { $count ->
        [one] { $count } arquivo; a operação foi revertida
       *[other] { $count } arquivos; a operação foi revertida
    }

## `replay`
replay-no-end = a execução { $run } não tem fim registrado: foi morta ou continua
replay-failed = a execução { $run } falhou: { $message }
replay-truncated-record = o último registro está incompleto; { $bytes ->
        [one] um byte foi omitido
       *[other] { $bytes } bytes foram omitidos
    }
replay-gaps = eventos ausentes, repetidos ou fora de lugar: { $count ->
        [one] um lugar
       *[other] { $count } lugares
    } (registros que não couberam em um disco cheio, ou um diário que foi editado)

compare-session = id da sessão
compare-model = modelo
compare-runs = execuções
compare-last-run = última execução
compare-duration = duração
compare-requests = pedidos ao modelo
compare-calls = chamadas
compare-failed-calls = chamadas que falharam ou foram recusadas
compare-tokens-read = tokens lidos
compare-tokens-cached = tokens do cache
compare-tokens-written = tokens escritos
compare-cost = custo
compare-changed-files = arquivos alterados
compare-completed = concluída
compare-failed = com falha
compare-refused = recusada
compare-incomplete = sem fim
compare-equal = { $count ->
        [one] { $count } entrada igual
       *[other] { $count } entradas iguais
    }

## `html`
page-prompt = Instrução
page-withheld-prompt = Instrução, não entregue ao modelo
page-answer = Resposta
page-arguments = Argumentos
page-result = Resultado
page-no-result = sem resultado
page-completed = Concluído em { $seconds } s
page-failed = Falhou: { $message }
page-failed-run = com falha
page-changed-files = Arquivos alterados
page-run = Execução
page-request = Pedido ao modelo
page-request-count = { $count ->
        [one] pedido ao modelo
       *[other] pedidos ao modelo
    }
page-call-count = { $count ->
        [one] chamada
       *[other] chamadas
    }
page-failed-calls = { $count ->
        [one] falhou ou foi recusada
       *[other] falharam ou foram recusadas
    }
page-tokens-read = { $count ->
        [one] token lido
       *[other] tokens lidos
    }
page-tokens-cached = em cache
page-tokens-written = { $count ->
        [one] escrito
       *[other] escritos
    }
page-time-line = Linha do tempo
page-model-time = espera do modelo:
page-tool-time = chamadas:
page-contents = Conteúdo
page-search = Pesquisar
page-previous-match = Ocorrência anterior
page-next-match = Próxima ocorrência
page-theme = Claro ou escuro
page-keys = Teclas
page-key-row = próxima entrada, entrada anterior
page-key-prompt = próxima instrução, instrução anterior
page-key-open = abrir ou fechar a chamada
page-key-match = próxima ocorrência, ocorrência anterior
page-skip-to-rows = Ir para a sessão
page-close = Fechar
page-needs-script = Esta sessão é longa demais para ser mostrada sem JavaScript.
trace-not-written = não é possível gravar o rastreamento em `{ $path }`: { $detail }
trace-not-sent = não é possível enviar o rastreamento para `{ $url }`: { $detail }
trace-invalid-setting = nenhum rastreamento é enviado: { $detail }
progress-start = iniciando
progress-model = esperando o modelo
progress-thinking = o modelo está pensando
progress-text = o modelo está escrevendo
progress-retry = esperando para repetir um pedido que falhou
progress-call = esperando { $tool }: { $target }
progress-calls = { $count ->
        [one] esperando outra chamada e { $tool }: { $target }
       *[other] esperando outras { $count } chamadas e { $tool }: { $target }
    }
progress-background = esperando comandos em segundo plano
progress-end = finalizando
progress-status = { $activity } ({ $time } s)
progress-status-with-tokens = { $activity } ({ $time } s, { $tokens } tokens)
run-unfinished = a resposta até agora
run-changed-files = arquivos alterados
run-changed-files-without-commands = arquivos alterados, sem os que os comandos alteraram (`ibeam diff` mostra todos)
run-no-changed-files = 0 arquivos alterados
run-no-files-changed-by-file-tools = 0 arquivos alterados pelas ferramentas de arquivos; o que comandos e ferramentas MCP alteraram não é contado
run-requests = pedidos ao modelo: { $requests }, chamadas: { $calls }, tempo: { $seconds } s
run-tokens = tokens lidos: { $read } (em cache: { $cached }), escritos: { $written }
run-cost = custo: ${ $cost }

ask-allow = permitir `{ $what }`?
ask-allow-this = permitir isto?
ask-no-rule = É preciso confirmar: nenhuma regra cobre isto
ask-outside = pergunta-se porque alcança fora do espaço de trabalho
ask-publishing = pergunta-se porque publica ou altera algo em um serviço, o que `ibeam undo` não desfaz
ask-rule = pergunta-se por causa da regra `{ $rule }`
ask-hook = pergunta o hook `{ $hook }`: { $detail }

## `policy`
policy-allowed = permitido por `{ $rule }`
policy-denied = negado por `{ $rule }`: { $reason }
policy-needs-approval = pergunta-se a uma pessoa por causa de `{ $rule }`: { $reason }
policy-unanalyzable = o comando não pode ser lido, pois tem { $what }
policy-runs-program = executa `{ $program }` por meio de `{ $wrappers }`
policy-reads-file = lê `{ $path }`
policy-writes-file = escreve `{ $path }`
policy-rule-applies = `{ $rule }` se aplica: { $why }
policy-rule-does-not-apply = `{ $rule }` não se aplica: { $why }
policy-no-rules = nenhuma regra está definida; `ibeam help configuration` diz como escrever uma
policy-path-rule-limits = as regras `Read` e `Write` abrangem arquivos pelo caminho; `ibeam help security` diz onde isso termina para comandos

## Sub-commands
command-logged-in = Login feito em { $provider }: a chave está guardada em { $path }
command-stream-on-terminal = este é o fluxo para programas; `--output-format text` imprime texto, e `ibeam` sem `-p` inicia uma conversa
command-provider-question = provedor (`ibeam models --providers` mostra a lista) [{ $provider }]:
command-key-question = chave de { $provider }:
command-key-accepted = { $provider } aceitou a chave
command-key-unverifiable = A chave não foi verificada: { $provider } também responde sem chave
command-key-unchecked = A chave não foi verificada: { $message }
command-key-deleted = a chave guardada de { $provider } foi apagada
command-logout-question = qual chave guardada apagar? ({ $providers }; uma linha vazia não apaga nenhuma):
command-key-overridden = `{ $source }` está definida e tem precedência sobre a chave guardada; retire-a para usar a chave guardada
command-key-remains = `{ $source }` continua definida: `{ $provider }` tem uma chave sem nenhuma guardada
command-logged-out = { $count ->
        [0] não havia chave guardada para apagar
        [one] { $count } chave guardada foi apagada
       *[other] { $count } chaves guardadas foram apagadas
    }
command-trust-removed = já não é de confiança: { $path }
command-not-trusted = nada a esquecer: `{ $path }` não é de confiança
command-no-trusted-workspaces = nada é de confiança; `--trust` confia num espaço de trabalho
command-approved-tools = { $count ->
        [one] aprovado em { $since }, { $count } ferramenta
       *[other] aprovado em { $since }, { $count } ferramentas
    }
command-no-servers = não há servidores MCP configurados; `ibeam help mcp` explica como adicionar um
command-quarantine-empty = a quarentena está vazia
command-quarantine-restored = restaurado: `{ $path }`
command-no-worktrees = o ibeam não criou nenhum worktree para este repositório; `--worktree=NOME` cria um
command-worktree-unchanged = sem alterações
command-worktree-changes = arquivos sem commit: { $uncommitted }, commits não mesclados: { $unmerged }
command-worktree-unreadable = alterações desconhecidas: { $detail }
command-worktree-removed = removido: `{ $path }`; o ramo `{ $branch }` permanece
command-detached-worktree-removed = removido: `{ $path }`
command-no-hooks = não há hooks configurados; `ibeam help hooks` explica como adicionar um
command-report-written = `{ $path }` foi gravado; ele contém partes de prompts e arquivos: leia-o antes de publicá-lo
command-report-of-machine-written = `{ $path }` foi gravado; contém nomes de arquivos e configurações desta máquina, mas nenhum pedido

## `fleet`
fleet-started = { $task }: iniciada
fleet-finished = { $task }: { $outcome } ({ $seconds } s)
fleet-retried = { $task }: será executada de novo em { $seconds } s
fleet-stopped = { $task }: { $state }: { $reason }
fleet-refused = { $task }: fica para outros workers: { $reason }
fleet-waiting = { $task }: espera um lote
fleet-restored = { $task }: continua de onde outra máquina parou
fleet-not-restored = { $task }: o instantâneo de outra máquina não pode ser usado: { $detail }
fleet-not-stored = { $task }: as outras máquinas não recebem instantâneo: { $detail }
fleet-not-published = { $task }: os eventos serão publicados mais tarde: { $detail }
fleet-not-traced = { $task }: aviso: não é possível escrever o rastro: { $detail }
fleet-submitted = lote { $batch }: { $requests ->
        [one] uma solicitação
       *[other] { $requests } solicitações
    } para { $model }
fleet-answered = os lotes responderam a { $requests ->
        [one] uma solicitação
       *[other] { $requests } solicitações
    }
fleet-cancelled = o prazo passou: o lote { $batch } foi cancelado
fleet-polled-again = a próxima consulta tenta de novo: { $detail }

## `context`
context-bytes = bytes
context-tokens = tokens*
context-system = Mensagem do sistema
context-tools = Ferramentas
context-server-tools = Ferramentas de servidores MCP
context-repository = Conteúdo do repositório, que não é confiável
context-conversation = Conversa
context-prompt = Mensagem
context-total = total (* estimados, a 3 bytes cada)
context-free = restantes na janela de contexto
context-window = Janela de contexto de `{ $model }`: { $tokens } tokens
context-servers = Não contados, porque não são iniciados aqui (`--start-servers` inicia-os): as ferramentas de { $servers }
context-commands = Comandos para uma mensagem

## `about`, `status`, `doctor`
diagnosis-not-logged-in = Sem login: nenhuma chave está definida ou guardada (`ibeam login PROVIDER`)
diagnosis-logged-in = Login feito em { $provider } (chave de { $source })
diagnosis-model = Modelo: { $model } ({ $id }; { $origin })
diagnosis-no-model = Modelo: nenhum ({ $detail })
diagnosis-about-contract = contrato: { $version }
diagnosis-about-model = modelo: { $model }
diagnosis-about-no-model = modelo: nenhum
diagnosis-about-engine = motor embutido: sim
diagnosis-about-no-engine = motor embutido: não
diagnosis-about-queues = cliente de filas: sim
diagnosis-about-no-queues = cliente de filas: não
diagnosis-about-platform = plataforma: { $os } { $arch }
diagnosis-about-licence = licença: MIT OR Apache-2.0
diagnosis-ok = certo
diagnosis-missing = falta
diagnosis-wrong = erro
diagnosis-check-model = modelo
diagnosis-check-key = chave
diagnosis-check-embedded = modelo embutido
diagnosis-check-sessions = sessões
diagnosis-check-cache = cache (diretório)
diagnosis-check-configuration = configuração
diagnosis-check-sandbox = ambiente isolado
diagnosis-key-found = { $provider }, de { $source }
diagnosis-key-not-needed = não é preciso: { $model } funciona sem chave
diagnosis-key-missing = nenhuma chave de API está definida ou guardada; `ibeam login PROVIDER` guarda uma, uma variável como `$ANTHROPIC_API_KEY` fornece uma
diagnosis-embedded-missing = `ibeam setup` baixa-o (1,1 GB)
diagnosis-not-writable = `{ $path }` não pode ser gravado: torne-o gravável ou indique outro diretório com `$XDG_DATA_HOME` e `$XDG_CACHE_HOME`
diagnosis-bash-purpose = a ferramenta de shell executa os comandos com ele
diagnosis-git-purpose = opcional; os comandos do modelo podem precisar dele
diagnosis-python-purpose = opcional; `ibeam setup` baixa o modelo embutido com o seu pip

## `acp`
editor-agent = Agente
editor-agent-about = Trabalha na tarefa
editor-plan = Plano
editor-plan-about = Apenas lê e termina com um plano
editor-ask = Perguntas
editor-ask-about = Apenas lê e responde a perguntas
editor-mode = Modo
editor-model = Modelo
editor-effort = Esforço
editor-effort-default = Padrão
editor-effort-none = Nenhum
editor-effort-minimal = Mínimo
editor-effort-low = Baixo
editor-effort-medium = Médio
editor-effort-high = Alto
editor-effort-xhigh = Muito alto
editor-effort-max = Máximo
editor-allow-once = Permitir
editor-allow-always = Permitir sempre nesta sessão
editor-reject-once = Rejeitar
editor-reject-always = Rejeitar sempre nesta sessão
editor-stored-keys = Chaves guardadas
editor-stored-keys-about = Usa as chaves de `ibeam login`, das variáveis ou da configuração
editor-login-about = Pede a chave de um provedor em um terminal e a guarda
editor-read = Ler { $file }
editor-write = Escrever { $file }
editor-edit = Editar { $file }
editor-delete = Excluir { $file }
editor-list = Listar { $file }
editor-search = Buscar `{ $pattern }`
editor-find = Encontrar `{ $pattern }`
editor-fetch = Obter { $url }
editor-web-search = Buscar `{ $query }` na web
editor-todos = Atualizar a lista de tarefas
editor-subagent = Subagente: { $task }
editor-attached = anexo: { $name }
editor-timed-out = Tempo esgotado após { $seconds } s
editor-ended-by = Encerrado por { $signal }
editor-exit-code = Código de saída { $code }

## `--help`
help-usage = Uso
help-arguments = Argumentos
help-options = Opções
help-general = Opções gerais
help-commands = Comandos

tui-welcome = ibeam · { $model } · { $directory }
tui-welcome-help = /help mostra comandos e teclas, /model troca o modelo
tui-opening = abrindo a sessão · { $seconds } s
tui-working = trabalhando · { $seconds } s
tui-waiting = aguardando o modelo · { $seconds } s
tui-thinking = pensando · { $seconds } s
tui-keys-busy = Esc interrompe · Enter acrescenta a este turno · Tab enfileira
tui-keys-question = ↑ ↓ ou um número, Enter · Esc interrompe
tui-keys-explain = Enter envia · Esc recusa sem mensagem
tui-keys-command = Esc interrompe · Enter enfileira
tui-keys-idle = \ Enter nova linha · / comandos · @ arquivos · ! shell · Shift-Tab modo · Esc Esc mensagens anteriores · Ctrl-R histórico · Ctrl-G editor
tui-keys-lines = \ no fim de uma linha: nova linha · linhas coladas são uma mensagem · / comandos · ! shell · Ctrl-C encerra um turno, Ctrl-D o programa
tui-line-cut = o terminal corta linhas em 4.095 bytes: ponha o texto longo em um arquivo e nomeie-o como @ARQUIVO
tui-press-again = pressione Ctrl-C de novo para sair
tui-press-again-busy = um turno está em execução: pressione Ctrl-D de novo para encerrá-lo e sair
tui-steering = para este turno: { $text }
tui-queued = depois: { $text }
tui-pasted = { $count } linhas coladas
tui-search = buscar no histórico: { $text }
tui-search-no-match = nenhum resultado no histórico: { $text } · Esc restaura a entrada
tui-hidden-lines = { $count ->
        [one] … mais uma linha
       *[other] … mais { $count } linhas
    }
tui-lines = { $count ->
    [one] { $count } linha
   *[other] { $count } linhas
}
tui-results = { $count ->
    [one] { $count } resultado
   *[other] { $count } resultados
}
tui-calls = { $count ->
    [one] { $count } chamada
   *[other] { $count } chamadas
}
tui-tokens = { $text } tokens
tui-tokens-and-cached = { $text } tokens e { $size } em cache
tui-context-left = resta { $percent } % do contexto
tui-exit-code = código de saída { $text }
tui-allow-this = Permitir isto?
tui-once = sim, uma vez
tui-for-session = sim, até o programa terminar
tui-all-edits = sim, e todas as alterações de arquivos do espaço de trabalho até o programa terminar
tui-always-here = sim, sempre neste projeto: acrescentar a regra `{ $rule }`
tui-always = sim, sempre e em todos os projetos: acrescentar a regra `{ $rule }`
tui-refuse = não
tui-refuse-and-explain = não, e dizer ao modelo por quê
tui-explain = Por que não? Enter envia ao modelo, Esc só recusa
tui-explain-in-line = Por que não? A linha vai para o modelo; uma linha vazia apenas recusa.
tui-allowed-once = permitido uma vez
tui-allowed-for-session = permitido até o programa terminar
tui-allowed-all-edits = todas as alterações de arquivos do espaço de trabalho estão permitidas até o programa terminar
tui-rule-added = permitido; `{ $rule }` foi acrescentada a `{ $path }`
tui-rule-not-written = permitido até o programa terminar; não é possível acrescentar a regra a `{ $path }`: { $detail }
tui-refused = recusado
tui-status-session = sessão: { $id }
tui-status-model = modelo: { $name }
tui-status-mode = modo: { $mode }
tui-status-sandbox = sandbox: { $state }
tui-unknown-command = comando desconhecido `{ $name }`; `/help` mostra os comandos
tui-unknown-command-near = comando desconhecido `{ $name }`; você quis dizer `{ $nearest }`?
tui-unknown-choice = desconhecido: `{ $name }`; use um destes: { $list }
tui-no-argument = `{ $name }` não leva nada depois, então nada foi feito
tui-unknown-model-near = `{ $name }` não é um modelo conhecido; você quis dizer `{ $nearest }`?
tui-unknown-model = `{ $name }` não está na tabela de modelos conhecidos; `/model` mostra os dos seus serviços
tui-interrupted = interrompido
tui-resume-with = Para continuar esta conversa: { $command }
tui-attached = anexado: { $names }
tui-not-attached = não existe, então nada foi anexado: { $names }
tui-plan-question = E agora?
tui-plan-continue = continuar planejando
tui-plan-carry-out = executar o plano: modo agent
tui-rewind-question = Voltar para antes de qual mensagem?
tui-rewind-what = O que volta?
tui-rewind-both = a conversa e os arquivos
tui-rewind-conversation = só a conversa
tui-rewind-files = só os arquivos
tui-effort = esforço: { $level }
tui-compact-requested = a conversa será encurtada antes da próxima solicitação ao modelo
tui-nothing-to-compact = ainda não há nada para encurtar: um resumo não seria mais curto que a conversa
tui-compacted = conversa encurtada: cerca de { $before } → { $after } tokens
tui-no-skills = nenhuma habilidade
tui-exported = gravado: { $path }
tui-earlier-turns = { $count ->
    [one] … { $count } turno anterior
   *[other] … { $count } turnos anteriores
}
tui-picker-here = Sessões deste diretório
tui-picker-all = Sessões de todos os diretórios
tui-picker-empty = nenhuma sessão aqui; Tab mostra as de todos os diretórios
tui-picker-keys = ↑ ↓ escolher · Enter retoma · Tab todos os diretórios · digite para filtrar · Esc sai
tui-pick-number = Número da sessão a retomar; uma linha vazia não retoma nenhuma:
tui-minutes = { $count } min
tui-hours = { $count } h
tui-days = { $count } d
tui-changes-title = Alterações
tui-transcript-title = Transcrição
tui-no-changes = nenhum arquivo foi alterado
tui-nothing-to-undo = nada para desfazer: nenhum turno desta sessão alterou arquivos
tui-already-undone = todas as alterações desta sessão já foram desfeitas; `/redo` reverte o último desfazer
tui-nothing-to-redo = nada para refazer: não há nenhum desfazer para reverter
tui-not-a-turn = `{ $name }` não é o número de um turno
tui-no-transcript = ainda não há conversa gravada
tui-view-keys = ↑ ↓ PgUp PgDn Home End rolam · / buscar · n N próximo, anterior · q sai
tui-view-search = buscar: { $text }
tui-view-no-match = não encontrado: { $text }
tui-dialog-keys = ↑ ↓ ou um número, Enter · Esc volta · Ctrl-C sai
tui-dialog-keys-leave = ↑ ↓ ou um número, Enter · Esc, Ctrl-C saem
tui-dialog-text-keys = Enter confirma · Esc volta · Ctrl-C sai
tui-dialog-number = Número da opção; uma linha vazia volta:
tui-dialog-number-leaves = Número da opção; uma linha vazia sai:
tui-dialog-empty-line = uma linha vazia volta
tui-dialog-leave = sair
tui-trust-folder = `{ $directory }` tem configuração própria, que não é confiável:
tui-trust-changed = A configuração de `{ $directory }` mudou desde que você confiou nela:
tui-trust-hook = hook { $event }: { $command }  ({ $file })
tui-trust-server = servidor MCP { $name }: { $target }  ({ $file })
tui-trust-setting = { $text }  ({ $file })
tui-trust-file = { $file }
tui-trust-agents = subagentes: { $names }
tui-trust-rules = instruções para o modelo: { $names }
tui-trust-skills = skills: { $names }
tui-trust-more = … mais { $count }; `ibeam trust show` mostra tudo
tui-trust-meaning = Se você confiar, os hooks e servidores dela são iniciados, as configurações podem permitir comandos e as instruções contam como as suas. Caso contrário, nada disso acontece, e as instruções são marcadas como não escritas por você.
tui-trust-question = Você confia nesta pasta?
tui-trust-yes = confiar, até a configuração mudar
tui-trust-no = continuar sem a configuração da pasta
tui-trust-stored = confiável; `ibeam trust forget` remove a confiança
tui-trust-declined = não confiável: a configuração não tem efeito; `ibeam --trust` confia nela mais tarde
tui-trust-not-stored = não é possível guardar a confiança, por isso a pasta não é confiável: { $detail }
tui-first-model = modelo: { $model } ({ $id }; { $origin }). `/model NOME` ou `--model NOME` troca; `model = "NOME"` em `{ $path }` troca de forma permanente
tui-first-rules = Alterações de arquivos desta pasta e comandos no sandbox não são perguntados. `/undo` desfaz as alterações, `/diff` as mostra.
tui-without-undo = Esta pasta não está em nenhum repositório git, então `/undo` e `/diff` não têm com que comparar.
tui-setup-question = Nenhum modelo pode responder ainda. O que você quer usar?
tui-setup-key = chave de API de um serviço
tui-setup-install = modelo pequeno nesta máquina (download de { $size } GB)
tui-setup-server = servidor seu, como o Ollama
tui-setup-provider = Qual serviço?
tui-setup-enter-key = Chave de API de { $provider } (não é mostrada):
tui-setup-key-is-word = uma chave é uma palavra sem espaços
tui-setup-checking = perguntando a { $provider } se a chave é válida
tui-setup-fetching = baixando o modelo: { $percent } %, { $done } de { $total } GB
tui-setup-verifying = verificando o modelo: { $percent } %
tui-setup-installed = o modelo está instalado
tui-setup-cancelled = encerrado; um download posterior continua de onde este parou
tui-setup-enter-url = Endereço do servidor, como http://127.0.0.1:11434/v1:
tui-setup-asking = perguntando a { $url } pelos modelos
tui-setup-server-failed = não é possível usar `{ $url }`, digite o endereço de novo: { $detail }
tui-setup-model = Qual modelo do servidor?
tui-setup-enter-model = O servidor não lista modelos. Nome do modelo:
tui-setup-server-stored = `{ $model }` agora é o seu modelo padrão, veja `{ $path }`
tui-setup-not-stored = não é possível escrever `{ $path }`: { $detail }
tui-loading-model = carregando o modelo embutido
tui-keys = teclas
