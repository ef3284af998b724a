# 日本語。基準: en.ftl。

## Lines of `--output-format text`
action-read = ファイルを読み取りました
    .failed = ファイルを読み取れませんでした
    .refused = ファイルの読み取りは許可されませんでした
action-edit = ファイルを編集しました
    .failed = ファイルを編集できませんでした
    .refused = ファイルの編集は許可されませんでした
action-create = 新しいファイルを作成しました
    .failed = ファイルを書き込めませんでした
    .refused = ファイルの書き込みは許可されませんでした
action-shell = ターミナルでコマンドを実行しました
    .failed = ターミナルのコマンドが失敗しました
    .refused = ターミナルでのコマンドの実行は許可されませんでした
action-delete = ファイルを削除しました
    .failed = ファイルを削除できませんでした
    .refused = ファイルの削除は許可されませんでした
action-search = ファイルの内容を検索しました
    .failed = ファイルの内容を検索できませんでした
    .refused = ファイルの内容の検索は許可されませんでした
action-find = ファイルを探しました
    .failed = ファイルを探せませんでした
    .refused = ファイルを探すことは許可されませんでした
action-list = ディレクトリの一覧を取得しました
    .failed = ディレクトリの一覧を取得できませんでした
    .refused = ディレクトリの一覧の取得は許可されませんでした
action-todos = ToDo リストを更新しました
    .failed = ToDo リストを更新できませんでした
    .refused = ToDo リストの更新は許可されませんでした
action-fetch = ウェブページを取得しました
    .failed = ウェブページを取得できませんでした
    .refused = ウェブページの取得は許可されませんでした
action-mcp = MCP ツールを呼び出しました
    .failed = MCP ツールが失敗しました
    .refused = MCP ツールの呼び出しは許可されませんでした
action-task = サブエージェントを実行しました
    .failed = サブエージェントが失敗しました
    .refused = サブエージェントの実行は許可されませんでした
action-other = ツール `{ $tool }` を呼び出しました
    .failed = ツール `{ $tool }` が失敗しました
    .refused = ツール `{ $tool }` の呼び出しは許可されませんでした
action-with-detail = { $action }: { $detail }

## Failures: usage
reason-usage = { $detail }
    .hint = `ibeam --help` でコマンドとフラグの一覧を表示できます
cli-command-usage = { $detail }
    .hint = `{ $command } --help` で引数とフラグの一覧を表示できます
reason-empty-prompt = プロンプトが空です
    .hint = 引数 `ibeam -p "…"` か stdin で渡してください
reason-format-without-print = `--output-format` は出力モードでのみ有効です
    .hint = `--print` を付けるか、stdin か stdout をパイプにつないでください
reason-not-text = { $what } は NUL を含まない UTF-8 テキストではありません
    .hint = 先に `iconv` などで UTF-8 に変換してください
reason-input-line = 標準入力の { $line } 行目は有効なメッセージではありません: { $detail }
    .hint = 行の形式は `ibeam schema --format input` で確認できます。残りの行でセッションを再開してください
reason-invalid-json-schema = `{ $path }` は有効な JSON Schema ではありません（{ $place }）: { $detail }
    .hint = 参照がファイル内に収まる JSON Schema 2020-12 のファイルを使ってください
reason-unsupported = このバージョンは { $what } に対応していません
    .hint = `ibeam --help` で使える機能を確認できます

## Failures: keys, models, requests
reason-no-key = `{ $provider }` の API キーがありません
    .hint = `{ $variable }` を設定するか、`ibeam login { $provider }` を実行してください
    .hint-local = { $embedded ->
        [yes] `--model embedded` でキー不要の内蔵モデルを使えます
       *[no] `ibeam setup` でキー不要の小さなモデルをインストールできます
    }
reason-key-unavailable = `{ $setting }` から `{ $provider }` の API キーを取得できません: { $detail }
    .hint = `{ $setting }` が設定されている場所は `ibeam config explain` で確認できます
reason-key-refused = `{ $provider }` が API キーを拒否しました: { $detail }
    .hint = `ibeam login { $provider }` で別のキーを保存できます。使われているキーは `ibeam status` で確認できます
reason-unknown-provider = `{ $provider }` というプロバイダーはありません
    .hint = `ibeam models --providers` でプロバイダーの一覧を表示できます
reason-unknown-model = プロバイダー `{ $provider }` にモデル `{ $model }` はありません
    .hint = `--model` で別のモデルを指定できます。手元のキーで使えるモデルは `ibeam models` で表示できます
reason-model-without-provider = モデル `{ $model }` のプロバイダーが分かりません
    .hint = `--model PROVIDER/NAME` で指定してください。名前の一覧は `ibeam models` で表示できます
reason-model-not-installed = 内蔵モデル `{ $model }` がインストールされていません
    .hint = `ibeam setup` でダウンロードできます (1.1 GB)。`--setup` を付けた実行は先にダウンロードします
    .hint-provider = 代わりにプロバイダーを使うには `ibeam login PROVIDER` を実行してください
cli-setup-failed = 内蔵モデルをインストールできませんでした: { $detail }
    .hint = `ibeam setup` をもう一度実行すると続きから再開します。取得元も選べます: `ibeam setup --from registry|hub|FILE`
reason-local-model = 内蔵モデルを実行できません: { $detail }
    .hint = 足りないものは `ibeam doctor` で分かります。`ibeam setup` でモデルを入れ直せます
reason-no-local-engine = このプログラムは内蔵モデルなしでビルドされています
    .hint = `ibeam login PROVIDER` でプロバイダーを選ぶか、フィーチャー `embedded` を付けてビルドしてください
reason-bad-request = `{ $provider }` がリクエストを拒否しました: { $detail }
    .hint = 別のモデルなら受け付けるかもしれません: `--model PROVIDER/NAME`
reason-context-too-long = 会話が `{ $provider }` のモデルには長すぎます: { $detail }
    .hint = 新しいセッションを始めるか、`--model` でコンテキストの大きいモデルを選んでください

## Failures: provider, network
reason-rate-limited = `{ $provider }` がリクエスト数を制限しています: { $detail }
    .hint = 時間をおいて再試行するか、`--model` で別のモデルを選んでください
reason-provider-failed = `{ $provider }` でエラーが発生しました: { $detail }
    .hint = 時間をおいて再試行するか、`--model` で別のモデルを選んでください
reason-answer-truncated = `{ $provider }` の応答が途中で終わりました
    .hint = もう一度試してください。途中のプロキシが長い応答を切っている可能性があります
reason-not-recorded = このリクエストは記録にありません。最も近い記録は `{ $recording }` です: { $difference }
    .hint = 空のディレクトリに `--record` で記録し直してください
reason-unreachable = `{ $address }` に接続できません: { $detail }
    .hint = アドレス、ネットワーク、`HTTPS_PROXY` を確認してください
reason-tls = `{ $address }` と安全に接続できません: { $detail }
    .hint = このシステムの時計と証明書を確認してください
reason-answer-too-slow = `{ $provider }` の応答が { $seconds } 秒たっても完了しませんでした
    .hint = 作業を小さく分けるか、`timeouts.answer` を大きくしてください
reason-stalled = `{ $provider }` から { $seconds } 秒間何も届きませんでした
    .hint = 時間をおいて再試行するか、`--model` で別のモデルを選んでください

## Failures: limits
reason-turn-limit = モデルへのリクエストが上限の { $limit } 回に達しました
    .hint = `--max-turns` で上限を上げるか、`--continue` で続けてください
reason-token-limit = この実行は { $limit } トークンを使い切りました
    .hint = `--max-tokens` を増やすか、`--continue` で続けてください
reason-cost-limit = この実行は予算 { $limit } 米ドルを使い切りました
    .hint = `--max-cost` を増やすか、`--continue` で続けてください
reason-tool-call-limit = この実行は { $limit } 回のツール呼び出しを使い切りました
    .hint = `--max-tool-calls` を増やすか、`--continue` で続けてください
reason-loop-guard = モデルが `{ $tool }` を同じ引数と同じ結果で { $count } 回呼び出しました
    .hint = 頼み方を変えるか、`--model` で別のモデルを選んでください
reason-empty-answer = 聞き直しても、モデルはテキストもツール呼び出しも返しませんでした
    .hint = 頼み方を変えるか、`--model` で別のモデルを選んでください
reason-output-limit = モデルの応答が出力上限で繰り返し切られました
    .hint = 作業を小さく分けるか、`--model` で別のモデルを選んでください
reason-answer-paused = サービスが応答を { $count } 回続けて一時停止し、完了しませんでした
    .hint = 頼み方を変えるか、`--model` で別のモデルを選んでください
reason-invalid-arguments = `{ $tool }` の呼び出しの引数が { $count } 回の応答で続けて有効な JSON ではありませんでした
    .hint = 作業を小さく分けるか、`--model` で別のモデルを選んでください
reason-refused-with-message = モデルが応答を断りました：{ $message }
    .hint = 頼み方を変えるか、`--model` で別のモデルを選んでください
reason-refused = モデルが応答を断りました
    .hint = 頼み方を変えるか、`--model` で別のモデルを選んでください
reason-prompt-refused = フック `{ $hook }` がプロンプトを拒否しました: { $detail }
    .hint = プロンプトを言い換えてください。フックを定めるファイルは docs/hooks.md にあります
reason-timed-out = 実行が { $seconds } 秒を超えました
    .hint = `--timeout` を延ばすか、`--continue` で続けてください
reason-denied = { $count } 件のツール呼び出しが拒否されました
    .hint = 理由は警告に示されています。`ibeam policy test` は個々の判断を説明します
reason-tool-errors = { $count } 件のツール呼び出しが失敗しました
    .hint = `--output-format stream-json` で各呼び出しと結果を確認できます
reason-background-stopped = 終了時に { $count } 個のコマンドがまだバックグラウンドで動いていたため、停止しました
    .hint = `--fail-on background` を外すか、`--background wait` で終わるのを待ってください
reason-no-text = ツール呼び出しだけで、テキストの応答がありませんでした
    .hint = これを成功とみなすには `--fail-on empty` を外してください
reason-answer-mismatch = { $repairs } 回の修正後も応答が JSON Schema に一致しません: { $detail }
    .hint = より簡単なスキーマを使うか、必要な形式をプロンプトに書くか、別のモデルを使ってください

## Failures: sessions, files, system
reason-session-damaged = セッション `{ $session }` が { $line } 行目で壊れています: { $detail }
    .hint = `ibeam sessions check { $session } --repair` は無事な部分を残し、残りを別に移します
    .hint-others = ほかのセッションは `ibeam ls` で表示できます
reason-unknown-session = セッション `{ $session }` はありません
    .hint = `ibeam ls` でセッションの一覧を表示できます
cli-unknown-run = `{ $source }` に実行 { $run } はありません (全部で { $runs } 件)
    .hint = `--run` を付けなければすべて表示します
cli-nothing-to-undo = セッション `{ $session }` には取り消せる変更がありません
    .hint = チェックポイントは git リポジトリ内で、ファイルを変更しうるツールを実行したターンにあります。`ibeam diff` はセッションの変更を表示します
cli-unknown-turn = セッション `{ $session }` にターン { $turn } はありません (全 { $turns } ターン)
    .hint = `ibeam replay SESSION` でターンを表示できます
cli-no-repository = ワークスペース `{ $path }` は、このユーザーの git リポジトリにありません
    .hint = チェックポイントには git が必要です。別のワークスペースには `--workspace DIR` を使ってください
cli-files-changed-since = { $count } 個のファイル (`{ $path }` など) がその後ほかから変更されています。何も復元していません
    .hint = `--force` で上書きします。その後 `ibeam undo --redo` で元に戻せます
cli-checkpoint-failed = チェックポイントを使用できません: { $detail }
    .hint = `ibeam doctor` でインストールを確認できます。チェックポイントは `refs/ibeam/` にあるコミットです
cli-stream-damaged = `{ $source }` は有効なストリームではありません ({ $line } 行目: { $detail })
    .hint = 正しいファイルか、途中で切れていないかを確認してください。ibeam のストリームの誤りは `ibeam check FILE` で一覧できます
reason-retold = { $detail }
    .hint = 種類と終了コードはストリームの最後の行にあります
reason-no-session-to-continue = `{ $cwd }` には続けられるセッションがありません
    .hint = 新しく始めるには `--continue` を外してください。一覧は `ibeam ls` で表示できます
    .hint-all = すべてのディレクトリのセッションは `ibeam ls --all` で一覧できます
reason-session-elsewhere = セッション `{ $session }` は作業ディレクトリ `{ $cwd }` のものです
    .hint = そのディレクトリで続けるか、`--workspace` で指定してください
reason-no-plan = セッション `{ $session }` には、計画で終わった実行がありません
    .hint = 先に `ibeam -p --mode plan "タスク"` で計画を作り、そのセッションの ID を `--from-plan` に指定してください
reason-session-busy = セッション `{ $session }` は `{ $holder }` が使用中です
    .hint = 終わるのを待つか、`--fork` を付けて同じ履歴の新しいセッションで続けてください
reason-session-leased = セッション `{ $session }` は `{ $holder }` が使用中です (使用権のファイル: `{ $path }`)
    .hint = そのプロセスがもう動いていなければ、このファイルを削除してください。または同じ履歴の新しいセッションで続けてください: `--fork`
reason-session-removed = 実行中にこのセッションが削除されました: `{ $path }` はもうありません
    .hint = ワークスペースへの変更は残っています。`--ephemeral` はセッションなしで実行します
reason-input-too-large = { $what } のプロンプトが { $megabytes } MiB を超えています
    .hint = 代わりに、読み込むファイルの名前をプロンプトで指定してください
reason-stdin-silent = stdin から { $seconds } 秒以内に何も届かず、終わりもしませんでした
    .hint = プロンプトを引数で渡し、`</dev/null` で stdin を閉じてください
reason-workspace-gone = 実行中に作業ディレクトリ `{ $path }` が削除されました
    .hint-resume = セッションは保存されています。別のディレクトリで `--resume` を使って続けてください
reason-no-input = `{ $path }` を読み取れません: { $detail }
    .hint = パスと権限を確認してください
reason-cannot-create = `{ $path }` を作成できません: { $detail }
    .hint = ディレクトリの権限と空き容量を確認してください
cli-name-taken = `{ $path }` がすでにあり、このプログラムのリンクではありません。何も変更していません
    .hint = それを別の場所へ移すか、別のディレクトリを選び、PATH でこのディレクトリより前に置いてください
reason-io = { $what } の読み書きに失敗しました: { $detail }
    .hint = 空き容量と権限を確認してください
reason-output-closed = stdout の読み手がいなくなりました
    .hint = セッションの記録は残っています。`--continue` で続けられます
reason-system = システムが { $what } を拒否しました: { $detail }
    .hint = プロセス数と開けるファイル数の上限は `ulimit -a` で確認できます
reason-no-sandbox = コマンド用のサンドボックスが利用できません: { $detail }
    .hint = `--sandbox disabled` なら無しで動きます。その場合コマンドは規則 (`--allow`、`--force`) が許すものだけ実行されます
    .hint-doctor = `ibeam doctor --sandbox` がこのシステムで拒否されるものを示します
reason-untrusted = `{ $what }` は { $path } にありますが、このワークスペースは信頼されていません
    .hint = ファイルを確認してから `--trust` を指定してください
reason-bad-config = `{ $place }` の設定が正しくありません: { $detail }
    .hint = 各値を決めたファイルや変数は `ibeam config explain` で確認できます
reason-unreadable-config = 設定 `{ $path }` を読み取れません: { $detail }
    .hint = 誰が読み取れるかを確認してください。設定ファイルの一覧は `ibeam config path` で表示できます
reason-mcp-server-failed = 必要な MCP サーバー `{ $server }` を利用できません: { $detail }
    .hint = どのファイルで設定されているかは `ibeam mcp list` で確認できます。`required = false` ならこのサーバーなしで続行します
reason-signalled = `{ $signal }` で停止しました
    .hint-resume = セッションは残っています。`--continue` で続けられます
reason-internal = 内部エラー: { $detail }
    .hint = ibeam のバグです。報告に必要な情報は `ibeam about` で表示できます
failure-retry-after = { $message }。{ $time } 後に再試行できます
failure-near-name = `{ $near }` のことですか?
failure-request-id = 失敗したリクエストのプロバイダー側の ID は `{ $id }` です

## 失敗の表
code-failed = 修正後も応答が --json-schema のスキーマに一致しない
code-usage = フラグの誤り、空のプロンプト、出力モードなしの形式指定、または --input-format stream-json の無効な行
code-denied = フックがプロンプトを拒否した。または呼び出しが拒否または失敗した、テキストがなかった、または作業が残っていたことを --fail-on が失敗とした
code-auth = キーがない、またはプロバイダーが拒否した
code-model = モデルが不明、または組み込みモデルが未設定
code-request = プロバイダーがリクエストを拒否した
code-context = 短縮した後も会話がモデルには長すぎる
code-rate-limited = 再試行後もリクエストが多すぎる
code-provider = 再試行後もプロバイダーが失敗した
code-network = 接続がない、または切れた
code-tls = 安全な接続ができない
code-stalled = 長い間何も届かなかった
code-limit = 実行の上限：リクエスト、トークン、費用、ツール呼び出し、または同じ呼び出しの繰り返し
code-empty = 再度求めてもモデルがテキストも呼び出しも返さなかった
code-refused = モデルが辞退した
code-timeout = 実行が --timeout より長くかかった
code-sandbox = サンドボックスが求められたが利用できない
code-untrusted = 要求されたものには信頼されたワークスペースが必要
code-too-large = stdin のプロンプトが長すぎる、または終わらない
code-data = セッションが壊れている
code-noinput = セッションやファイルが不明、作業ディレクトリが消えた、または stdin が終わらない
code-internal = ibeam の不具合
code-os = システムがプロセス、スレッド、ファイルを拒否した
code-cantcreat = ディレクトリやファイルを作成できない
code-io = ディスクがいっぱい、または stdout の読み手がいなくなった
code-busy = 別のプロセスがセッションを使っている
code-config = 設定が誤っている
code-signal = シグナルにより停止した

## Warnings
notice-embedded-model = 小さな内蔵モデル `{ $model }` で応答しています。`--model` か `ibeam login PROVIDER` で別のモデルを選べます
notice-embedded-model-with-key = { $message }。{ $detail }
notice-effort-ignored = `--effort` と `--thinking-budget` は効果がありません。モデル `{ $model }` には推論の設定がありません
unused-key = `{ $variable }` は設定されていますが、このバージョンでは { $service } のキーを直接使えません。OpenRouter 経由でモデルを使うか (`ibeam login openrouter`)、Chat Completions に対応していれば `[providers.NAME]` に `base_url` と `key_variable` を設定してください
notice-stdin-ignored = stdin から { $seconds } 秒間何も届かなかったため無視しました。`--stdin ignore` で待ち時間を省けます
notice-arguments-ignored = `{ $dialect }` の次の引数に相当するものが ibeam にないため、無視しました: { $arguments }
notice-session-gaps = このセッションのジャーナルには、イベントの欠落・重複・順序違いが { $count } か所あります。会話が不完全な可能性があります。詳細は `ibeam sessions check` で確認できます
notice-session-lease-file = このセッションのファイルシステムはファイルをロックできません。この実行の間、`{ $path }` が別の書き込みからセッションを守ります
notice-session-unsynced = ディスクの応答を待たずに実行を終了しました。再開したセッションには最後の記録が欠けている場合があります
notice-calls-denied = { $count } 件のツール呼び出しが拒否されました
notice-unknown-stop-reason = プロバイダーが未知の理由 `{ $word }` で応答を終えました。完了したものとして扱います
notice-answer-cut = 応答が出力上限で切られたため、モデルに続きを求めました
notice-answer-interrupted = { $message }。モデルに応答の続きを求めました
notice-websocket-unavailable = `{ $provider }` を WebSocket で利用できないため ({ $detail })、リクエストは HTTP で送ります
notice-model-fallback = `{ $from }` は利用できません ({ $message })。`{ $to }` に切り替えます
notice-fallback-unusable = `{ $model }` は代替モデルとして使えません: { $message }
notice-answer-paused = サービスが応答を一時停止したため、送り返して続きを求めました
notice-empty-answer = 応答が空だったため、モデルに聞き直しました
notice-answer-mismatch = 応答が JSON Schema に一致しないため、モデルに修正を求めました（{ $attempt } 回目）: { $detail }
notice-repeated-call = モデルが `{ $tool }` を同じ引数と同じ結果で { $count } 回呼び出しています
notice-turns-near = この実行のモデルへのリクエストの { $percent } % を使いました。モデルに終えるよう伝えました
notice-tokens-near = この実行のトークンの { $percent } % を使いました。モデルに終えるよう伝えました
notice-cost-near = この実行の予算の { $percent } % を使いました。モデルに終えるよう伝えました
notice-calls-near = この実行のツール呼び出しの { $percent } % を使いました。モデルに終えるよう伝えました
notice-time-near = この実行の時間の { $percent } % を使いました。モデルに終えるよう伝えました
notice-unknown-config-key = `{ $path }` の `{ $key }` は未知の設定のため無視しました
notice-untrusted-config-key = `{ $path }` の `{ $key }` を無視しました: 信頼済みのワークスペースでのみ設定できます (`--trust`)
notice-forbidden-config-key = `{ $path }` の `{ $key }` を無視しました: プロジェクトはこの値を設定できません。ユーザーの設定なら可能です
notice-mcp-server-failed = `{ $server }` という MCP サーバーを利用できません: { $detail }
notice-mcp-server-untrusted = `{ $path }` の MCP サーバー `{ $server }` は起動しませんでした: プログラムを起動できるのは信頼済みのワークスペースだけです (`--approve-mcps` または `--trust`)
notice-mcp-server-unsupported = `{ $server }` という MCP サーバーは古い転送方式 `sse` を使っており、対応していません。streamable HTTP の URL を設定してください
notice-hook-failed = フック `{ $hook }` ({ $event }) が失敗したため、これを使わずに続行しました: { $detail }
notice-subagents-untrusted = `{ $path }` のサブエージェントは使いません: 使うのは信頼済みのワークスペースのものだけです (`--trust`)
notice-subagent-definition = サブエージェントの定義 `{ $path }`: { $detail }
notice-hooks-untrusted = `{ $path }` のフックは実行しませんでした: プログラムを実行できるのは信頼済みのワークスペースだけです (`--trust`)
notice-hooks-not-run = `{ $path }` には、このバージョンでは実行しないフックがあります: { $what }
notice-trust-changed = このワークスペースを信頼した後に `{ $path }` が変更されました: 再び信頼するまで、プロジェクトのファイルによる許可の拡大や実行は無効です (`ibeam trust show`、`--trust`)
notice-trust-not-kept = `{ $path }` に書き込めなかったため、信頼や承認が有効なのは今回の実行だけです: { $detail }
notice-trust-unreadable = `{ $path }` の内容が正しくないため、どのワークスペースも信頼されません: { $detail }
notice-text-file-ignored = `{ $path }` は使用しません: { $detail }
notice-texts-cut = 長すぎるため、モデルには一部だけが渡されます: { $files } (サイズは `ibeam context` で確認できます)
notice-rules-lost = `{ $path }` は空か存在しませんが、前回の実行では権限ルールが書かれていました。そのルールは現在適用されません
notice-git-objects-hidden = コマンドは git のオブジェクトを読めないため、ほとんどの git コマンドは失敗します。ルールで読み取りが拒否されている `{ $path }` を git が追跡しているためです（`--allow '{ $rule }'` で読めるようになります）
notice-checkpoint-skipped = 最初の変更の前にファイルを保存できなかったため、このターンは取り消せません: { $detail }
notice-checkpoint-incomplete = チェックポイントには、大きすぎるか読み取れない { $count } 個のファイル (`{ $path }` など) が含まれていません
notice-worktree-used = この実行は git ワークツリー `{ $path }` のブランチ `{ $branch }` で行われます
notice-mcp-tools-changed = `{ $server }` という MCP サーバーのツールが承認時と異なるため、呼び出しません: { $tools } (`--approve-mcps` で承認できます)
notice-background-awaited = { $count } 個のバックグラウンドコマンドの終了を待っています
notice-network-denied = コマンドが失敗しました。ここではコマンドがネットワークを使えないためと思われます。`--allow-net example.com:443` で接続先のホストを 1 つ許可できます（例のホスト名を必要なものに置き換えてください）
notice-background-stopped = 実行中だった { $count } 件のバックグラウンドコマンドを停止しました
no-file-changed = 変更されたファイルはありません
no-file-changed-by-tools = ファイルツールで変更されたファイルはありません。コマンドや MCP ツールによる変更は数えていません
compacted = 会話が長くなりすぎたため、約 { $before } トークンから { $after } トークンに短縮しました
retrying = { $message } ({ $attempt } 回目)。{ $seconds } 秒後に再試行します

## `check`
check-keeps = `{ $file }` は契約 { $contract } を守っています (イベント: { $events }、警告: { $warnings })
check-breaks = `{ $file }` は契約 { $contract } に違反しています (イベント: { $events }、エラー: { $errors }、警告: { $warnings })
check-more = 表示していない指摘: { $count }
convert-lossy = `{ $file }` のすべてを { $to } で表すことはできません。失われたもの: { $count }
convert-dropped = 省略: { $key } (回数: { $count }、最初は { $line } 行目)
convert-changed = 変更: { $key } (回数: { $count }、最初は { $line } 行目)
convert-joined = 結合: { $key } (回数: { $count }、最初は { $line } 行目)
convert-more = 表示していない損失: { $count }

## `shim`
shim-made = `{ $link }` を作成しました。`{ $program }` を起動します
shim-kept = `{ $link }` はすでにあります
shim-in-path = `{ $directory }` は PATH にあります
shim-not-in-path = `{ $directory }` は PATH にありません。`{ $command }` を実行すると、クライアントから見つかります
shim-hidden = PATH では `{ $name }` は `{ $other }` で、`{ $directory }` より前にあります

## `sessions check`
session-whole = セッション `{ $session }`: 完全です
session-incomplete = セッション `{ $session }`: 不完全です
session-damaged = セッション `{ $session }`: 壊れています
session-repaired = セッション `{ $session }`: 修復しました
session-gone = セッション `{ $session }`: 残せるものがありませんでした
session-events = イベント: { $count }
session-files = ファイル: { $count } ({ $bytes } バイト)
session-payloads = 大きな内容: { $count } ({ $bytes } バイト)
session-orphans = どの記録からも参照されない内容: { $count } (害はありません)
session-torn = 書きかけの最後の記録: { $bytes } バイト (次の実行で別に保存します)
session-gaps = 欠落・重複・順序違いのイベント: { $count } か所 (ディスクに空きがなく書けなかった記録、または編集されたジャーナル)
session-open-calls = 結果のない呼び出し: { $count } (次の実行でモデルに伝えます)
session-damage = 最初の破損: `{ $file }` の { $line } 行目: { $detail }
session-moved = 移した先: `{ $path }`
undo-restores = 復元: { $path }
undo-removes = 削除: { $path }
undo-keeps = そのまま: { $path } (無視されていたか、大きすぎて保存されていません)
undo-changed-since = その後ほかから変更されています: `{ $path }`
undo-unchanged = ファイルはすでに元のとおりです
undo-done = { $count } 個のファイル。元に戻すには: { $command }
undo-redone = { $count } 個のファイル。取り消しを元に戻しました

## `replay`
replay-no-end = 実行 { $run } の終わりが記録されていません (強制終了されたか、まだ続いています)
replay-failed = 実行 { $run } は失敗しました: { $message }
replay-torn = 最後の記録が途中で切れています。{ $bytes } バイトを省きました
replay-gaps = 欠落・重複・順序違いのイベント: { $count } か所 (ディスクに空きがなく書けなかった記録、または編集されたジャーナル)

## `html`
page-prompt = 指示
page-withheld = 指示 (モデルには渡していません)
page-answer = 回答
page-arguments = 引数
page-result = 結果
page-no-result = 結果なし
page-took = { $seconds } 秒
page-completed = { $seconds } 秒で完了
page-failed = 失敗: { $message }
page-requests = モデルへの要求: { $count } 回
page-tokens = トークン: 読み取り { $input }、書き出し { $output }
page-changed = 変更したファイル

ask-allow = `{ $what }` を許可しますか? [y/N]
ask-allow-this = これを許可しますか? [y/N]
ask-no-rule = 対象とする規則がないため確認します
ask-rule = 規則 `{ $rule }` により確認します
ask-hook = フック `{ $hook }` による確認です: { $detail }

## `policy`
policy-allowed = `{ $rule }` により許可されます
policy-denied = `{ $rule }` により拒否されます: { $reason }
policy-asked = `{ $rule }` により人に確認します: { $reason }
policy-opaque = コマンドを読み取れません。含まれているもの: { $what }
policy-runs = `{ $wrappers }` を通して `{ $program }` を実行します
policy-reads = `{ $path }` を読みます
policy-writes = `{ $path }` に書き込みます
policy-applies = `{ $rule }` が当てはまります: { $why }
policy-passes = `{ $rule }` は当てはまりません: { $why }
policy-no-rules = 規則は設定されていません。書き方は docs/configuration.md にあります
policy-path-bounds = `Read` と `Write` のルールはパスでファイルを対象とします。コマンドに対する限界は docs/security.md にあります

## Sub-commands
command-logged-out = { $count ->
        [0] 削除する保存済みキーはありませんでした
       *[other] 保存済みキーを { $count } 個削除しました
    }
command-forgotten = 信頼を解除しました: { $path }
command-nothing-to-forget = 解除するものはありません: `{ $path }` は信頼されていません
command-nothing-trusted = 信頼されているものはありません。`--trust` でワークスペースを信頼できます
command-approved-tools = { $since } に承認、ツール { $count } 個
command-no-servers = MCP サーバーは設定されていません。追加方法は docs/mcp.md にあります

## `context`
context-bytes = バイト
context-tokens = トークン*
context-system = システムプロンプト
context-tools = ツール
context-repository = 信頼していないリポジトリの内容
context-prompt = プロンプト
context-total = 合計 (* 1 トークンを 3 バイトとした推定)
context-window = `{ $model }` のコンテキストウィンドウ: { $tokens } トークン
context-servers = ここでは起動しないため含まれません: { $servers } のツール
context-commands = プロンプトで使えるコマンド

## `--help`
help-usage = 使い方
help-arguments = 引数
help-options = オプション
help-general = 共通のオプション
help-commands = コマンド
