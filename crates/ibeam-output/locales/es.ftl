# Español. Referencia: en.ftl.

## Lines of `--output-format text`
action-read = Leyó un archivo
    .failed = No pudo leer un archivo
    .refused = No tuvo permiso para leer un archivo
action-edit = Editó un archivo
    .failed = No pudo editar un archivo
    .refused = No tuvo permiso para editar un archivo
action-create = Creó un archivo nuevo
    .failed = No pudo escribir un archivo
    .refused = No tuvo permiso para escribir un archivo
action-shell = Ejecutó un comando en la terminal
    .failed = Falló un comando en la terminal
    .refused = No tuvo permiso para ejecutar un comando en la terminal
action-background = Inició un comando en segundo plano
    .failed = Falló un comando en segundo plano
    .refused = No tuvo permiso para iniciar un comando en segundo plano
action-delete = Eliminó un archivo
    .failed = No pudo eliminar un archivo
    .refused = No tuvo permiso para eliminar un archivo
action-search = Buscó en los archivos
    .failed = No pudo buscar en los archivos
    .refused = No tuvo permiso para buscar en los archivos
action-find = Encontró archivos
    .failed = No pudo encontrar archivos
    .refused = No tuvo permiso para encontrar archivos
action-list = Listó un directorio
    .failed = No pudo listar un directorio
    .refused = No tuvo permiso para listar un directorio
action-todos = Actualizó la lista de tareas
    .failed = No pudo actualizar la lista de tareas
    .refused = No tuvo permiso para actualizar la lista de tareas
action-fetch = Obtuvo una página web
    .failed = No pudo obtener una página web
    .refused = No tuvo permiso para obtener una página web
action-web-search = Buscó en la web
    .failed = No pudo buscar en la web
    .refused = No tuvo permiso para buscar en la web
action-mcp = Llamó a una herramienta MCP
    .failed = Falló la herramienta MCP
    .refused = No tuvo permiso para llamar a la herramienta MCP
action-task = Ejecutó un subagente
    .failed = Falló el subagente
    .refused = No tuvo permiso para ejecutar un subagente
action-other = Llamó a la herramienta `{ $tool }`
    .failed = Falló la herramienta `{ $tool }`
    .refused = No tuvo permiso para llamar a la herramienta `{ $tool }`
action-with-detail = { $action }: { $detail }

## Failures: usage
reason-usage = { $detail }
cli-line-usage = { $detail }
    .hint = `ibeam help flags` muestra las opciones, `ibeam help commands` los comandos
cli-command-usage = { $detail }
    .hint = `{ $command } --help` muestra sus argumentos y opciones
cli-mistyped-command = `{ $word }` no es un comando; se parece a `{ $near }`
    .hint = ¿quiso decir `ibeam { $near }`?
    .hint-prompt = para enviarlo como prompt: `ibeam -p { $word }`, o escribe más palabras
cli-conversation-command = `{ $word }` no es un comando; en una conversación existe `{ $near }`
    .hint = `ibeam` inicia una conversación; escribe `{ $near }` en ella
    .hint-prompt = para enviarlo como prompt: `ibeam -p { $word }`, o escribe más de una palabra
cli-unknown-setting = la configuración tiene el ajuste desconocido `{ $key }` (`{ $place }`)
    .hint = corríjalo o bórrelo; `ibeam help configuration` enumera los ajustes
cli-unknown-topic = `{ $word }` no es ni un comando ni un tema
    .hint = `ibeam help topics` enumera los temas, `ibeam help commands` los comandos
cli-mistyped-topic = `{ $word }` no es ni un comando ni un tema
    .hint = ¿quiso decir `ibeam help { $near }`?
    .hint-topics = `ibeam help topics` enumera los temas, `ibeam help commands` los comandos
cli-not-a-command = `{ $word }` no es un comando
    .hint = `ibeam help flags` muestra las opciones, `ibeam help commands` los comandos
    .hint-prompt = para enviarlo como prompt: `ibeam -p { $word }`, o escribe más de una palabra
cli-resume-in-prompt = `resume` después de `-p` es parte del prompt
    .hint = para continuar la sesión: `ibeam resume { $session } -p PROMPT`
    .hint-prompt = para enviarlo como prompt, pon `--` delante: `ibeam -p -- resume …`
reason-empty-prompt = el prompt está vacío
    .hint = escríbelo como argumento, `ibeam -p "…"`, o por stdin
reason-format-without-print = `--output-format` solo es válido al imprimir
    .hint = añade `--print`, o conecta stdin o stdout a una tubería
reason-not-text = { $what } no es texto UTF-8 sin caracteres NUL
    .hint = conviértelo antes a UTF-8, por ejemplo con `iconv`
reason-input-line = la línea { $line } de stdin no es un mensaje válido: { $detail }
    .hint = `ibeam schema --format input` describe las líneas; reanuda la sesión con las que faltan
reason-invalid-json-schema = `{ $path }` no es un JSON Schema válido ({ $place }): { $detail }
    .hint = usa un archivo con JSON Schema 2020-12 cuyas referencias no salgan del archivo
reason-unsupported = esta versión no admite { $what }
    .hint = `ibeam help flags` muestra lo que sabe hacer

## Failures: keys, models, requests
reason-no-key = no hay clave de API para `{ $provider }`
    .hint = define `${ $variable }` o ejecuta `ibeam login { $provider }`
    .hint-local = { $embedded ->
        [yes] `--model embedded` usa el modelo integrado, que no necesita clave
       *[no] `ibeam setup` instala un modelo pequeño que no necesita clave
    }
reason-no-model = no hay ninguna clave definida ni guardada, así que no se puede usar ningún modelo
    .hint = define una variable como `$ANTHROPIC_API_KEY` o ejecuta `ibeam login PROVIDER`; `ibeam models --providers` muestra los proveedores
    .hint-server = un servidor en esta máquina no necesita clave: `--model ollama/NAME`
reason-key-unavailable = `{ $setting }` no dio ninguna clave de API para `{ $provider }`: { $detail }
    .hint = `ibeam config explain` muestra dónde está definido `{ $setting }`
reason-key-refused = `{ $provider }` rechazó la clave de API: { $detail }
    .hint = `ibeam login { $provider }` guarda otra clave; `ibeam status` dice cuál se usa
reason-key-refused-of-source = `{ $provider }` rechazó la clave de API de `{ $source }`: { $detail }
    .hint = cambia `{ $source }` o quítala; tiene prioridad sobre la clave que guarda `ibeam login { $provider }`
reason-unknown-provider = ningún proveedor se llama `{ $provider }`
    .hint = `ibeam models --providers` muestra los proveedores
reason-unknown-model = el proveedor `{ $provider }` no conoce el modelo `{ $model }`
    .hint = `--model` indica otro; `ibeam models` muestra lo que tu clave puede usar
reason-model-without-provider = no se conoce ningún proveedor para el modelo `{ $model }`
    .hint = indícalo con `--model PROVIDER/NAME`; `ibeam models` muestra los nombres
reason-no-default-model = `{ $provider }` tiene una clave, pero ningún modelo predeterminado
    .hint = indica un modelo: `--model { $provider }/NAME`; `ibeam models` muestra los nombres
reason-model-not-installed = el modelo integrado `{ $model }` no está instalado
    .hint = `ibeam setup` lo descarga (1,1 GB); una ejecución con `--setup` lo hace primero
    .hint-provider = para usar un proveedor en su lugar, ejecuta `ibeam login PROVIDER`
reason-no-key-and-no-model = no hay ninguna clave definida, y el modelo integrado `{ $model }` no está instalado
    .hint-provider = define una variable como `$ANTHROPIC_API_KEY` o ejecuta `ibeam login PROVIDER`; `ibeam models --providers` muestra los proveedores
    .hint-server = un servidor en esta máquina no necesita clave: `--model ollama/NAME`
    .hint = `ibeam setup` descarga el modelo integrado (1,1 GB); una ejecución con `--setup` lo hace primero
cli-setup-failed = no se pudo instalar el modelo integrado: { $detail }
    .hint = vuelve a ejecutar `ibeam setup` para continuar, o elige una fuente: `ibeam setup --from registry|hub|FILE`
reason-local-model = el modelo integrado no funciona: { $detail }
    .hint = `ibeam doctor` dice qué falta; `ibeam setup` vuelve a instalar el modelo
reason-no-local-engine = este programa se compiló sin el modelo integrado
    .hint = elige un proveedor con `ibeam login PROVIDER`, o compílalo con la característica `embedded`
reason-bad-request = `{ $provider }` rechazó la petición: { $detail }
    .hint = cambia lo que nombra el mensaje, o elige otro modelo con `--model PROVIDER/NAME`
reason-bad-request-reasoning = `{ $provider }` rechazó la petición: { $detail }
    .hint = omite `--effort` y `--thinking-budget`, o elige otro nivel
reason-bad-request-tools = `{ $provider }` rechazó la petición: { $detail }
    .hint = `--without TOOL` omite una herramienta; `ibeam mcp list-tools` muestra las de los servidores
reason-bad-request-media = `{ $provider }` rechazó la petición: { $detail }
    .hint = omite la imagen o el documento
reason-bad-request-output-limit = `{ $provider }` rechazó la petición: { $detail }
    .hint = pon un número menor en `limits.max_output_tokens`
reason-context-too-long = la conversación es demasiado larga para el modelo de `{ $provider }`: { $detail }
    .hint = empieza una sesión nueva, o elige con `--model` un modelo con más contexto

## Failures: provider, network
reason-rate-limited = `{ $provider }` limita la frecuencia de las peticiones: { $detail }
    .hint = inténtalo más tarde, o elige otro modelo con `--model`
reason-quota-exhausted = el crédito o la cuota en `{ $provider }` se ha agotado: { $detail }
    .hint = revisa la facturación de tu cuenta, o elige un modelo de otro proveedor con `--model` o `--fallback-model`
reason-provider-failed = `{ $provider }` falló: { $detail }
    .hint = inténtalo más tarde, o elige otro modelo con `--model`
reason-answer-truncated = la respuesta de `{ $provider }` terminó antes de estar completa
    .hint = inténtalo de nuevo; puede que un proxy intermedio corte las respuestas largas
reason-not-recorded = las grabaciones no contienen esta solicitud; la más parecida es `{ $recording }`: { $difference }
    .hint = vuelve a grabar la ejecución con `--record` en un directorio vacío
reason-unreachable = no se puede conectar con `{ $address }`: { $detail }
    .hint = revisa la dirección, la red y `$HTTPS_PROXY`
reason-server-not-running = { $server } no está en marcha en `{ $address }`: { $detail }
    .hint = inícialo, o indica su dirección con `--endpoint URL`
reason-tls = no hay conexión segura con `{ $address }`: { $detail }
    .hint = revisa el reloj y los certificados de este sistema
reason-no-tls = el servidor en `{ $address }` no habla TLS
    .hint = la dirección de un servidor sin TLS empieza por `http://`
reason-answer-too-slow = la respuesta de `{ $provider }` no estaba completa después de { $seconds } s
    .hint = pide pasos más pequeños, o aumenta `timeouts.answer`
reason-stalled = no llegó nada de `{ $provider }` durante { $seconds } s
    .hint = inténtalo más tarde, o elige otro modelo con `--model`

## Failures: limits
reason-parked = la ejecución está aparcada hasta que `{ $path }` tenga una respuesta
    .hint = `ibeam -p --resume=ID --unpark --park-requests DIR` la continúa cuando llegue la respuesta
reason-fleet-driver-gone = el controlador de la flota ya no está, y sin él los límites de la flota no permiten ninguna petición
    .hint = inicia otra vez el mismo `ibeam fleet run` o `ibeam fleet worker`; reanuda la ejecución
reason-turn-limit = { $limit ->
        [one] la ejecución alcanzó su límite de { $limit } petición al modelo
       *[other] la ejecución alcanzó su límite de { $limit } peticiones al modelo
    }
    .hint = auméntalo con `--max-turns`
    .hint-resume = la sesión se conserva; sigue con `--continue`
reason-token-limit = la ejecución agotó sus { $limit } tokens
    .hint = aumenta `--max-tokens`
    .hint-resume = la sesión se conserva; sigue con `--continue`
reason-cost-limit = la ejecución agotó su presupuesto de { $limit } USD
    .hint = aumenta `--max-cost`
    .hint-resume = la sesión se conserva; sigue con `--continue`
reason-tool-call-limit = { $limit ->
        [one] la ejecución agotó su { $limit } llamada a herramientas
       *[other] la ejecución agotó sus { $limit } llamadas a herramientas
    }
    .hint = aumenta `--max-tool-calls`
    .hint-resume = la sesión se conserva; sigue con `--continue`
reason-loop-guard = { $count ->
        [one] el modelo llamó a `{ $tool }` { $count } vez con los mismos argumentos y el mismo resultado
       *[other] el modelo llamó a `{ $tool }` { $count } veces con los mismos argumentos y el mismo resultado
    }
    .hint = plantea la tarea de otra manera, o elige otro modelo con `--model`
reason-empty-answer = el modelo no dio ni texto ni una llamada a una herramienta, ni siquiera al preguntarle de nuevo
    .hint = plantea la tarea de otra manera, o elige otro modelo con `--model`
reason-output-limit = el límite de salida cortó la respuesta del modelo una y otra vez
    .hint = pide pasos más pequeños, o elige otro modelo con `--model`
reason-answer-paused = el servicio puso la respuesta en pausa { $count } veces seguidas y nunca la completó
    .hint = plantea la tarea de otra manera, o elige otro modelo con `--model`
reason-invalid-arguments = los argumentos de las llamadas a `{ $tool }` no eran JSON válido en { $count } respuestas seguidas
    .hint = pide pasos más pequeños, o elige otro modelo con `--model`
reason-refused-with-message = el modelo se negó a responder: { $message }
    .hint = plantea la tarea de otra manera, o elige otro modelo con `--model`
reason-refused-in-category = el modelo se negó a responder ({ $category }): { $message }
    .hint = plantea la tarea de otra manera, o elige otro modelo con `--model`
reason-refused = el modelo se negó a responder
    .hint = plantea la tarea de otra manera, o elige otro modelo con `--model`
reason-prompt-refused = el hook `{ $hook }` rechazó el mensaje: { $detail }
    .hint = plantea el mensaje de otra manera; `ibeam help hooks` indica los archivos que configuran hooks
reason-timed-out = la ejecución duró más de { $seconds } s
    .hint = aumenta `--timeout`
    .hint-resume = la sesión se conserva; sigue con `--continue`
reason-denied = { $count ->
        [one] se denegó { $count } llamada a herramientas
       *[other] se denegaron { $count } llamadas a herramientas
    }
    .hint = las advertencias dicen por qué; `ibeam policy test` explica cada decisión
reason-tool-errors = { $count ->
        [one] falló { $count } llamada a herramientas
       *[other] fallaron { $count } llamadas a herramientas
    }
    .hint = `--output-format stream-json` muestra cada llamada con su resultado
reason-background-stopped = { $count ->
        [one] { $count } comando seguía en segundo plano al final y fue detenido
       *[other] { $count } comandos seguían en segundo plano al final y fueron detenidos
    }
    .hint = omite `--fail-on background`, o deja que terminen con `--background wait`
reason-no-text = la ejecución no dio texto, solo llamadas a herramientas
    .hint = quita `--fail-on empty` para darlo por bueno
reason-answer-mismatch = { $repairs ->
        [one] la respuesta no cumple el JSON Schema tras una corrección: { $detail }
       *[other] la respuesta no cumple el JSON Schema tras { $repairs } correcciones: { $detail }
    }
    .hint = usa un esquema más sencillo, indica en el prompt la forma exigida o usa otro modelo

## Failures: sessions, files, system
reason-session-damaged = la sesión `{ $session }` está dañada en la línea { $line }: { $detail }
    .hint = `ibeam sessions check { $session } --repair` conserva lo que está íntegro y aparta el resto
    .hint-others = `ibeam sessions list` muestra las demás sesiones
reason-unknown-session = no existe la sesión `{ $session }`
    .hint = `ibeam sessions list` muestra las sesiones
reason-session-id-too-short = el comienzo `{ $prefix }` de un ID de sesión es demasiado corto; indica al menos { $minimum } caracteres
    .hint = `ibeam sessions list` muestra las sesiones
reason-ambiguous-session = varios ID de sesión empiezan por `{ $prefix }`: { $sessions }; indica más caracteres
    .hint = `ibeam sessions list` muestra las sesiones
cli-unknown-run = `{ $source }` no tiene la ejecución { $run }; tiene { $runs }
    .hint = sin `--run` se muestran todas
cli-no-session-or-file = `{ $name }` no es ni una sesión ni un archivo
    .hint = `ibeam sessions list` enumera las sesiones; el comienzo de un ID necesita al menos 4 caracteres
cli-not-in-quarantine = `{ $id }` no está en la cuarentena
    .hint = `ibeam quarantine list` muestra los nombres
cli-unknown-worktree = ibeam no ha creado ningún worktree `{ $name }` para este repositorio
    .hint = `ibeam worktree list` los muestra
cli-worktree-in-use = estás en el worktree `{ $name }`
    .hint = quítalo desde otro directorio, o indica uno con `--workspace`
cli-worktree-has-changes = el worktree `{ $name }` tiene cambios que no están en ningún otro sitio: archivos sin confirmar: { $uncommitted }, confirmaciones sin fusionar: { $unmerged }
    .hint = confírmalos y fusiónalos; o quítalo con `--force`: su rama se conserva, los cambios sin confirmar se pierden
cli-worktree-unreadable = no se sabe si el worktree `{ $name }` tiene cambios: { $detail }
    .hint = `--force` lo quita en cualquier caso; su rama se conserva
cli-origin-unknown = no se sabe de dónde procede `{ $id }`
    .hint = `--to PATH` lo mueve a otro lugar
cli-nothing-to-undo = la sesión `{ $session }` no tiene nada que deshacer
    .hint = hay puntos de control en repositorios de git, para turnos con herramientas que pueden cambiar archivos; `ibeam diff` muestra lo que cambió una sesión; `ibeam undo ID` toma otra sesión, e `ibeam sessions list` las enumera
cli-nothing-to-redo = la sesión `{ $session }` no tiene nada que rehacer
    .hint = `ibeam undo --redo` revierte el último `ibeam undo` de una sesión
cli-already-undone = lo que cambió la sesión `{ $session }` ya está deshecho
    .hint = `ibeam undo { $session } --redo` lo restaura
cli-session-held = la sesión `{ $session }` está en uso por `{ $holder }`
    .hint = en esa conversación, `/undo` y `/redo` hacen esto; o ciérrala antes
cli-no-checkpoints = la sesión `{ $session }` cambió archivos, pero no tiene puntos de control
    .hint = los puntos de control necesitan un repositorio de git; `ibeam replay { $session }` muestra los cambios
cli-unknown-turn = la sesión `{ $session }` no tiene el turno { $turn }; tiene { $turns }
    .hint = `ibeam replay SESSION` muestra los turnos
cli-no-repository = el espacio de trabajo `{ $path }` no está en ningún repositorio de git de este usuario
    .hint = los puntos de control necesitan git; para otro espacio de trabajo usa `--workspace DIR`
cli-files-changed-since = { $count ->
        [one] `{ $path }` ha cambiado desde entonces; no se restauró nada
       *[other] { $count } archivos han cambiado desde entonces, como `{ $path }`; no se restauró nada
    }
    .hint = `--force` los sobrescribe; después `ibeam undo --redo` los recupera
cli-files-changed-since-undo = { $count ->
        [one] `{ $path }` ha cambiado desde entonces; no se restauró nada
       *[other] { $count } archivos han cambiado desde entonces, como `{ $path }`; no se restauró nada
    }
    .hint = `--force` los sobrescribe; `--redo` indica entonces el commit con lo sobrescrito
cli-checkpoint-failed = no se puede usar el punto de control: { $detail }
    .hint = `ibeam doctor` comprueba la instalación; los puntos de control están en `checkpoints` del directorio de datos de ibeam
cli-invalid-tasks = { $count ->
        [one] la línea { $line } de `{ $source }` no es una tarea válida: { $detail }
       *[other] `{ $source }` tiene { $count } tareas no válidas; la primera es la línea { $line }: { $detail }
    }
    .hint = corrige el archivo o ejecuta las tareas válidas con `--skip-invalid`; el formato: `ibeam help fleet`
cli-no-tasks = el archivo de tareas `{ $source }` no tiene tareas
    .hint = cada línea es un objeto JSON; el formato: `ibeam help fleet`
cli-not-an-export = `{ $source }` no es una sesión exportada
    .hint = `ibeam sessions export SESSION FILE` escribe una
cli-damaged-export = la sesión exportada en `{ $source }` está incompleta o fue modificada
    .hint = `ibeam sessions export SESSION FILE` la escribe de nuevo
cli-invalid-hook-input = `{ $place }` no es un objeto JSON
    .hint = el objeto tiene los campos del evento que difieren de la muestra; `ibeam help hooks` tiene un ejemplo
cli-no-fleet = no hay ninguna flota en `{ $directory }`
    .hint = `ibeam fleet run TASKS --dir { $directory }` inicia una
cli-no-batch-fleet = no se inició ninguna flota con `--batch` en `{ $directory }`
    .hint = `ibeam fleet run TASKS --batch --dir DIR` inicia una; `ibeam help batch` explica los lotes
cli-fleet-task-changed = la tarea `{ $task }` es distinta de la que hay en `{ $directory }`
    .hint = usa otro directorio con `--dir` o da otro id a la tarea
cli-fleet-in-use = otro proceso ejecuta la flota de `{ $directory }`
    .hint = espera a que termine; `ibeam fleet status { $directory }` muestra su estado
cli-fleet-tasks-failed = { $failed } de { $total } tareas no se superaron
    .hint = `ibeam fleet report { $directory }` muestra los fallos
cli-fleet-not-applied = { $failed } de { $total } cambios no se aplicaron
    .hint = las líneas anteriores indican los motivos; ninguno de estos cambios se aplicó en parte
cli-fleet-unfinished = { $unfinished ->
        [one] una tarea no ha terminado: { $detail }
       *[other] { $unfinished } tareas no han terminado: { $detail }
    }
    .hint = una vez eliminada la causa, el mismo comando las reanuda
cli-fleet-budget-spent = { $unfinished ->
        [one] una tarea no ha terminado: el presupuesto se ha agotado
       *[other] { $unfinished } tareas no han terminado: el presupuesto se ha agotado
    }
    .hint = `ibeam fleet run` con un `--budget-usd` o `--budget-tokens` mayor las reanuda
cli-fleet-waiting = { $waiting ->
        [one] una tarea espera un lote
       *[other] { $waiting } tareas esperan lotes
    }
    .hint = `ibeam fleet poll { $directory }` las continúa cuando haya respuestas; con `--wait` permanece hasta el final
cli-stream-damaged = `{ $source }` no es un flujo válido (línea { $line }: { $detail })
    .hint = comprueba que es el archivo correcto y que está completo; `ibeam check FILE` muestra los errores de un flujo de ibeam
reason-retold = { $detail }
    .hint = la última línea del flujo dice su clase y su código de salida
reason-no-session-to-continue = todavía no hay ninguna sesión en `{ $cwd }`
    .hint = `ibeam "PROMPT"` sin `--continue` empieza una
    .hint-all = `ibeam sessions list --all` muestra las sesiones de todos los directorios
reason-session-elsewhere = la sesión `{ $session }` pertenece al espacio de trabajo `{ $cwd }`
    .hint = continúala allí, o con `--workspace`
reason-no-plan = ninguna ejecución de la sesión `{ $session }` terminó con un plan
    .hint = crea uno antes: `ibeam -p --mode plan "TAREA"`, y luego `--from-plan` con el id de su sesión
reason-invalid-trajectory = `{ $path }` no es una trayectoria en formato ATIF: { $detail }
    .hint = el formato es un objeto JSON con `schema_version`, `agent` y `steps`; `ibeam replay SESSION --output-format atif` escribe uno
reason-session-busy = la sesión `{ $session }` está en uso por `{ $holder }`
    .hint = espera a que termine, o continúa en una sesión nueva con el mismo historial: `--fork`
reason-session-leased = la sesión `{ $session }` está en uso por `{ $holder }`, cuya reserva es el archivo `{ $path }`
    .hint = si ese proceso ya no se ejecuta, elimina el archivo; o continúa en una sesión nueva con el mismo historial: `--fork`
reason-session-removed = la sesión de esta ejecución fue eliminada mientras trabajaba: `{ $path }` ya no existe
    .hint = lo que la ejecución cambió en el espacio de trabajo se conserva; `--ephemeral` ejecuta sin sesión
reason-input-too-large = el prompt en { $what } supera los { $megabytes } MiB
    .hint = indica en el prompt el nombre de un archivo que se deba leer
reason-stdin-silent = stdin no envió nada ni terminó en { $seconds } s
    .hint = da el prompt como argumento y cierra stdin con `</dev/null`
reason-workspace-gone = el espacio de trabajo `{ $path }` fue eliminado durante la ejecución
    .hint-resume = la sesión se conserva; sigue con `--resume` en otro directorio
reason-worktree-setup = el comando de preparación `{ $command }` del worktree falló (`{ $path }`): { $detail }
    .hint-network = se ejecuta en el entorno aislado, como los comandos del modelo: `--allow-net HOST` le permite un host
    .hint-skip = el worktree se conserva y la próxima ejecución repite la preparación; `--skip-worktree-setup` la omite
reason-no-input = no se puede leer `{ $path }`: { $detail }
    .hint = revisa la ruta y sus permisos
reason-cannot-create = no se puede crear `{ $path }`: { $detail }
    .hint = revisa los permisos de su directorio y el espacio libre
cli-file-exists = `{ $path }` ya existe
    .hint = elige otro nombre o borra antes ese archivo
cli-name-taken = `{ $path }` ya existe y no es un enlace de este programa; no se cambió nada
    .hint = muévelo a otro lugar, o elige otro directorio y ponlo antes que este en PATH
reason-io = falló la lectura o la escritura en { $what }: { $detail }
    .hint = revisa el espacio libre y los permisos
reason-output-closed = el lector de stdout se fue
    .hint-resume = la sesión se conserva; sigue con `--continue`
reason-system = el sistema rechazó { $what }: { $detail }
    .hint = `ulimit -a` muestra los límites de procesos y de archivos abiertos
reason-no-sandbox = el entorno aislado para los comandos no está disponible: { $detail }
    .hint = `--sandbox disabled` prescinde de él; entonces un comando solo se ejecuta si una regla lo permite (`--allow`, `--force`)
    .hint-doctor = `ibeam doctor --sandbox` dice qué rechaza este sistema
reason-untrusted = `{ $what }` está en { $path }, y este espacio de trabajo no es de confianza
    .hint = revisa el archivo y luego usa `--trust`
reason-bad-config = la configuración en `{ $place }` es incorrecta: { $detail }
    .hint = `ibeam config explain` dice qué archivo o variable fija cada valor
reason-bad-json-config = la configuración en `{ $place }` es incorrecta: { $detail }
    .hint = `ibeam help { $page }` describe este archivo
reason-unreadable-config = no se puede leer la configuración `{ $path }`: { $detail }
    .hint = revisa quién puede leerla; `ibeam config path` muestra los archivos de la configuración
reason-mcp-server-failed = el servidor MCP `{ $server }` no se inició: { $detail }
    .hint = `ibeam mcp list` muestra qué archivo lo configura; sin `required = true` las ejecuciones continúan sin el servidor
reason-signalled = detenido por `{ $signal }`
    .hint-resume = la sesión se conserva; sigue con `--continue`
reason-internal = error interno: { $detail }
    .hint = es un fallo de ibeam; `ibeam about` imprime lo que necesita un informe
failure-retry-after = { $message }; se puede volver a intentar dentro de { $time }
failure-near-name = ¿querías decir `{ $near }`?
failure-request-id = el ID de la petición fallida en el proveedor es `{ $id }`

## Tabla de fallos
code-failed = la respuesta no cumple el esquema de --json-schema, ni siquiera tras corregirla
code-usage = opciones, una petición vacía, un formato sin modo de impresión o una línea no válida de --input-format stream-json
code-denied = un hook rechazó el mensaje; o una llamada fue rechazada o falló, no hubo texto o quedó trabajo en marcha, y --fail-on lo convierte en fallo
code-auth = no hay clave, o el proveedor la rechazó
code-model = modelo desconocido, o el modelo integrado no está instalado
code-request = el proveedor rechazó la solicitud
code-context = la conversación es demasiado larga para el modelo, incluso acortada
code-rate-limited = demasiadas solicitudes, tras los reintentos, o una cuota agotada
code-provider = el proveedor falló, tras los reintentos
code-network = no hay conexión, o se cortó
code-tls = no hay conexión segura
code-stalled = no llegó nada durante demasiado tiempo
code-limit = un límite de la ejecución: solicitudes, tokens, coste, llamadas, o la misma llamada una y otra vez
code-empty = el modelo no dio ni texto ni llamada, ni siquiera al volver a preguntar
code-refused = el modelo se negó
code-timeout = la ejecución duró más que --timeout
code-sandbox = se pidió un entorno aislado y no está disponible
code-untrusted = lo que se pidió necesita un espacio de trabajo de confianza
code-too-large = el prompt en stdin es demasiado largo o no termina
code-data = una sesión está dañada, o un archivo no tiene el formato esperado
code-noinput = sesión o archivo desconocido, el espacio de trabajo ya no existe, o stdin no terminó
code-internal = un error de ibeam
code-os = el sistema negó un proceso, hilo o archivo
code-cantcreat = no se puede crear un directorio o archivo
code-io = el disco está lleno, o el lector de stdout se fue
code-busy = otro proceso tiene la sesión
code-config = la configuración es incorrecta
code-parked = la ejecución espera la respuesta a una petición (--park-requests)
code-signal = una señal pidió detenerlo

## Warnings
notice-embedded-model = responde el modelo integrado pequeño `{ $model }`; elige otro con `--model` o `ibeam login PROVIDER`
notice-embedded-model-with-key = { $message }; { $detail }
notice-effort-ignored = `--effort` y `--thinking-budget` no tienen efecto: el modelo `{ $model }` no tiene ajuste de razonamiento
notice-effort-changed = el modelo `{ $model }` no acepta el esfuerzo `{ $asked }`; se usa `{ $used }`
notice-default-model-replaced = el servicio no ofrece el modelo predeterminado `{ $from }`; se usa `{ $to }` en su lugar
unused-key = `${ $variable }` está definida, pero esta versión no puede usar directamente una clave de { $service }: usa sus modelos a través de OpenRouter (`ibeam login openrouter`) o, si tiene una API de Chat Completions, define `base_url` y `key_variable` en `[providers.NAME]`
notice-stdin-ignored = stdin no envió nada en { $seconds } s y se ignoró; `--stdin ignore` evita la espera
notice-arguments-ignored = estos argumentos de `{ $dialect }` no tienen equivalente en ibeam y se ignoraron: { $arguments }
notice-budget-not-enforced = el límite del coste no se aplica: no se conoce el precio de `{ $model }`; define `models.prices."{ $model }" = "IN/OUT"` en dólares por un millón de tokens
notice-session-gaps = { $count ->
        [one] al diario de esta sesión le faltan, se le repiten o se le movieron eventos en { $count } lugar: la conversación puede estar incompleta; `ibeam sessions check` informa de ello
       *[other] al diario de esta sesión le faltan, se le repiten o se le movieron eventos en { $count } lugares: la conversación puede estar incompleta; `ibeam sessions check` informa de ello
    }
notice-session-lease-file = el sistema de archivos de esta sesión no puede bloquear archivos; `{ $path }` protege la sesión de un segundo escritor mientras dura esta ejecución
notice-session-unsynced = la ejecución dejó de esperar al disco; a una sesión reanudada pueden faltarle sus últimos registros
notice-calls-denied = { $count ->
        [one] se denegó { $count } llamada a herramientas
       *[other] se denegaron { $count } llamadas a herramientas
    }
notice-unknown-stop-reason = el proveedor terminó su respuesta por el motivo desconocido `{ $word }`; sus llamadas están completas y se aceptaron
notice-answer-cut = el límite de salida cortó la respuesta; se pidió al modelo que siguiera
notice-answer-interrupted = { $message }; se pidió al modelo que continúe su respuesta desde ese punto
notice-websocket-unavailable = no se puede usar `{ $provider }` por WebSocket ({ $detail }); las peticiones van por HTTP
notice-thinking-refused = `{ $provider }` rechazó el razonamiento anterior del modelo; la petición se repitió sin él
notice-tools-refused = `{ $provider }` rechazó herramientas, que a partir de ahora se omiten en esta sesión: { $tools }
notice-tools-beyond-limit = `{ $provider }` acepta como máximo { $limit } herramientas; se omiten estas: { $tools }
notice-files-refused = `{ $provider }` rechazó archivos, que a partir de ahora se omiten en esta sesión: { $files }
notice-images-damaged = hay imágenes dañadas o incompletas que no se envían: { $files }
notice-images-too-large = `{ $provider }` acepta imágenes de { $limit } píxeles por lado como máximo; no se envían estas: { $files }
notice-files-beyond-limit = `{ $provider }` acepta como máximo { $limit } archivos de este tipo en una conversación; los más antiguos ya no se envían: { $files }
notice-model-fallback = `{ $from }` no está disponible ({ $message }); `{ $to }` lo reemplaza
notice-fallback-unusable = `{ $model }` no se puede usar como modelo de reserva: { $message }
notice-answer-paused = el servicio puso la respuesta en pausa; se le devolvió para que la complete
notice-empty-answer = la respuesta estaba vacía; se preguntó de nuevo al modelo
notice-answer-mismatch = la respuesta no cumple el JSON Schema; se pidió al modelo que la corrigiera (corrección { $attempt }): { $detail }
notice-repeated-call = { $count ->
        [one] el modelo ha llamado a `{ $tool }` { $count } vez con los mismos argumentos y el mismo resultado
       *[other] el modelo ha llamado a `{ $tool }` { $count } veces con los mismos argumentos y el mismo resultado
    }
notice-turns-near = se ha usado el { $percent } % de las solicitudes al modelo de esta ejecución; se pidió al modelo que termine
notice-tokens-near = se ha usado el { $percent } % de los tokens de esta ejecución; se pidió al modelo que termine
notice-cost-near = se ha usado el { $percent } % del presupuesto de esta ejecución; se pidió al modelo que termine
notice-calls-near = se ha usado el { $percent } % de las llamadas a herramientas de esta ejecución; se pidió al modelo que termine
notice-time-near = se ha usado el { $percent } % del tiempo de esta ejecución; se pidió al modelo que termine
notice-unknown-config-key = `{ $key }` en `{ $place }` no es un ajuste conocido y se ignoró
notice-unknown-config-key-near = `{ $key }` en `{ $place }` no es un ajuste conocido y se ignoró; ¿quiso decir `{ $near }`?
notice-untrusted-config-key = `{ $key }` en `{ $path }` se ignoró: solo puede fijarlo un espacio de trabajo de confianza (`--trust`)
notice-forbidden-config-key = `{ $key }` en `{ $path }` se ignoró: un proyecto no puede fijar este valor; la configuración del usuario sí
notice-mcp-server-failed = falta el servidor MCP `{ $server }`: { $detail }
notice-mcp-server-untrusted = el servidor MCP `{ $server }` de `{ $path }` no se inició: solo un espacio de trabajo de confianza puede iniciar programas (`--approve-mcps` o `--trust`)
notice-mcp-server-unsupported = el servidor MCP `{ $server }` usa el transporte antiguo `sse`, que no se admite; configura su URL de HTTP con streaming
notice-hook-failed = el hook `{ $hook }` ({ $event }) falló y la ejecución siguió sin él: { $detail }
notice-subagents-untrusted = los subagentes de `{ $path }` no se usan: solo se usan los de un espacio de trabajo confiable (`--trust`)
notice-subagent-definition = la definición de subagente `{ $path }`: { $detail }
notice-hooks-untrusted = los hooks de `{ $path }` no se ejecutaron: solo un espacio de trabajo de confianza puede ejecutar programas (`--trust`)
notice-hooks-not-run = `{ $path }` tiene hooks que esta versión no ejecuta: { $what }
notice-trust-changed = `{ $path }` ha cambiado desde que se confió en este espacio de trabajo: sus archivos no pueden ampliar ni ejecutar nada hasta que se vuelva a confiar en él (`ibeam trust show`, `--trust`)
notice-trust-not-kept = lo que se dio por fiable o se aprobó solo cuenta en esta ejecución, porque no se pudo escribir `{ $path }`: { $detail }
notice-trust-unreadable = `{ $path }` no da confianza a ningún espacio de trabajo, porque no está como debería: { $detail }
notice-text-file-ignored = `{ $path }` no se usa: { $detail }
notice-texts-cut = demasiado largo, por lo que el modelo recibe solo una parte: { $files } (`ibeam context` muestra los tamaños)
notice-rules-lost = `{ $path }` está vacío o falta, pero en la última ejecución contenía reglas de permisos; ahora no se aplican
notice-git-objects-hidden = los comandos no pueden leer los objetos de git, por lo que la mayoría de los comandos de git fallan: contienen `{ $path }`, que los comandos no deben leer (`--allow '{ $rule }'` los muestra)
notice-checkpoint-skipped = los archivos no se guardaron antes del primer cambio, así que este turno no se puede deshacer: { $detail }
notice-checkpoint-incomplete = { $count ->
        [one] el punto de control no contiene `{ $path }`, que es demasiado grande o no se puede leer
       *[other] el punto de control no contiene { $count } archivos demasiado grandes o que no se pueden leer, como `{ $path }`
    }
notice-worktree-used = esta ejecución trabaja en el worktree de git `{ $path }`, en la rama `{ $branch }`
notice-worktree-setup-untrusted = los comandos de preparación de `{ $path }` no se ejecutaron: solo un espacio de trabajo de confianza puede ejecutar programas (`--trust`)
notice-mcp-tools-changed = las herramientas del servidor MCP `{ $server }` no son las que se aprobaron y no se llamarán: { $tools } (`--approve-mcps` las aprueba)
notice-mcp-tools-left-out = no se ofrecen herramientas del servidor MCP `{ $server }`, porque el servidor las describe mal: { $tools }
notice-background-awaited = { $count ->
        [one] esperando a que termine { $count } comando en segundo plano
       *[other] esperando a que terminen { $count } comandos en segundo plano
    }
notice-network-denied = un comando falló, probablemente porque aquí los comandos no tienen red; `--allow-net example.com:443` les permite llegar a un servidor (sustituya el ejemplo por el servidor necesario)
notice-write-denied = un comando falló, probablemente porque aquí los comandos solo escriben en el espacio de trabajo, y no en archivos protegidos; `--add-dir { $example }` (sustituya el ejemplo por el directorio necesario) o el ajuste `sandbox.writable` permite escribir en un directorio, y `--allow 'Write(.git/config)'` en un archivo protegido
notice-socket-denied = un comando falló, probablemente porque aquí los comandos no llegan a ningún servicio de este equipo; `--allow-socket /var/run/docker.sock` les permite conectarse a un socket (sustituya el ejemplo por el socket necesario)
notice-home-workspace = el espacio de trabajo `{ $path }` contiene su directorio personal: no se buscan los nombres protegidos que los comandos creen en subdirectorios y no se guardan puntos de control (`session.cover_home = true` cambia ambas cosas; un espacio de trabajo propio es más seguro)
notice-protected-paths-restored = unos comandos cambiaron rutas protegidas y eso se deshizo: { $paths } (lo que crearon está en la cuarentena: `ibeam quarantine list`)
notice-protected-paths-appeared = aparecieron rutas protegidas mientras se ejecutaba un comando, y el sandbox no vio que las creara ningún comando: { $paths } (no se tocaron; revisa lo que no hayas creado tú)
notice-background-ended = el comando en segundo plano `{ $command }` terminó con el código de salida { $exit_code }
notice-background-stopped = { $count ->
        [one] { $count } comando en segundo plano seguía en marcha y se detuvo
       *[other] { $count } comandos en segundo plano seguían en marcha y se detuvieron
    }
compacted = la conversación se acortó, de unos { $before } a { $after } tokens
retrying = { $message } (intento { $attempt }); se reintenta en { $seconds } s
retrying-at-once = { $message } (intento { $attempt }); se reintenta de inmediato

## `check`
check-valid = `{ $file }` cumple el contrato { $contract } (eventos: { $events }, advertencias: { $warnings })
check-invalid = `{ $file }` incumple el contrato { $contract } (eventos: { $events }, errores: { $errors }, advertencias: { $warnings })
check-more-findings = otros hallazgos, no mostrados: { $count }
convert-lossy = no todo lo de `{ $file }` se puede decir en { $to }; perdido: { $count }
convert-dropped = omitido: { $key } (veces: { $count }, primero en la línea { $line })
convert-changed = cambiado: { $key } (veces: { $count }, primero en la línea { $line })
convert-joined = unido: { $key } (veces: { $count }, primero en la línea { $line })
convert-more-losses = otras pérdidas, no mostradas: { $count }

## `shim`
shim-created = se creó `{ $link }`, que inicia `{ $program }`
shim-unchanged = `{ $link }` ya estaba
shim-in-path = `{ $directory }` está en PATH
shim-not-in-path = `{ $directory }` no está en PATH; los clientes lo encuentran después de `{ $command }`
shim-shadowed = en PATH, `{ $name }` es `{ $other }`, que está antes de `{ $directory }`

## `sessions check`
session-intact = sesión `{ $session }`: íntegra
session-incomplete = sesión `{ $session }`: incompleta
session-damaged = sesión `{ $session }`: dañada
session-repaired = sesión `{ $session }`: reparada
session-unrecoverable = sesión `{ $session }`: no se pudo conservar nada
session-events = eventos: { $count }
session-files = archivos: { $count } ({ $bytes } bytes)
session-payloads = contenidos grandes: { $count } ({ $bytes } bytes)
session-unreferenced-payloads = contenidos que ningún registro nombra: { $count } (inofensivos)
session-truncated-record = último registro incompleto: { $bytes ->
        [one] un byte
       *[other] { $bytes } bytes
    } (la próxima ejecución lo aparta)
session-gaps = eventos que faltan, se repiten o están movidos: { $count ->
        [one] un lugar
       *[other] { $count } lugares
    } (registros que no cupieron en un disco lleno, o un diario que fue editado)
session-open-calls = llamadas sin resultado: { $count } (la próxima ejecución se lo dice al modelo)
session-damage = primer daño: `{ $file }`, línea { $line }: { $detail }
session-moved-aside = apartado en: `{ $path }`
session-title = sesión `{ $session }`: { $title }
session-directory = directorio: { $path }
session-times = creada: { $created }, último uso: { $updated }
session-stored = tamaño: { $size }
session-runs = ejecuciones: { $count }, peticiones al modelo: { $requests }, llamadas: { $calls }
session-tokens = tokens leídos: { $read }, escritos: { $written }
session-cost = coste: ${ $cost }
session-no-price = coste: desconocido, porque no se conoce el precio de { $models }; `models.NAME.prices` en la configuración lo fija
session-changed-files = archivos modificados: { $count }
session-confirm-removal = sesiones que se eliminarán: { $count }. ¿Eliminarlas? [y/N]
session-removed = eliminada: { $session }
session-in-use = no eliminada, porque { $holder } la usa: { $session }
session-nothing-to-remove = no hay nada que eliminar
session-none-here = no hay ninguna sesión guardada de este directorio; `--all` muestra las de otros directorios, `ibeam "PROMPT"` inicia una
session-none = no hay ninguna sesión guardada; `ibeam "PROMPT"` inicia una
session-no-match-here = ninguna sesión de este directorio contiene `{ $words }`; `--all` busca en las de otros directorios
session-no-match = ninguna sesión contiene `{ $words }`
session-renamed = renombrada: { $session } → { $title }
session-exported = exportada: { $session } → { $path }
session-checkpoints-left = no se eliminaron los puntos de control de `{ $path }`: { $detail }
session-imported = importada: { $session } (eventos: { $count })
undo-restores = restaurar: { $path }
undo-removes = eliminar: { $path }
undo-keeps = no tocar: { $path } (se ignoraba o era demasiado grande para guardarlo)
undo-changed-since = ha cambiado desde entonces: `{ $path }`
undo-overwritten = sobrescrito: `{ $path }`; `git --git-dir={ $directory } show { $commit }:{ $path }` muestra lo que había
undo-unchanged = los archivos ya están como estaban
undo-done = { $count ->
        [one] { $count } archivo; para revertir esto: { $command }
       *[other] { $count } archivos; para revertir esto: { $command }
    }
undo-redone = { $count ->
        [one] { $count } archivo; se ha revertido la operación de deshacer
       *[other] { $count } archivos; se ha revertido la operación de deshacer
    }

## `replay`
replay-no-end = la ejecución { $run } no tiene final registrado: se la mató o sigue en curso
replay-failed = la ejecución { $run } falló: { $message }
replay-truncated-record = el último registro está incompleto; { $bytes ->
        [one] se omitió un byte
       *[other] se omitieron { $bytes } bytes
    }
replay-gaps = eventos que faltan, se repiten o están movidos: { $count ->
        [one] un lugar
       *[other] { $count } lugares
    } (registros que no cupieron en un disco lleno, o un diario que fue editado)

compare-session = id de la sesión
compare-model = modelo
compare-runs = ejecuciones
compare-last-run = última ejecución
compare-duration = duración
compare-requests = peticiones al modelo
compare-calls = llamadas
compare-failed-calls = llamadas fallidas o rechazadas
compare-tokens-read = tokens leídos
compare-tokens-cached = tokens de la caché
compare-tokens-written = tokens escritos
compare-cost = coste
compare-changed-files = archivos modificados
compare-completed = terminada
compare-failed = con error
compare-refused = rechazada
compare-incomplete = sin final
compare-equal = { $count ->
        [one] { $count } entrada igual
       *[other] { $count } entradas iguales
    }

## `html`
page-prompt = Instrucción
page-withheld-prompt = Instrucción, no entregada al modelo
page-answer = Respuesta
page-arguments = Argumentos
page-result = Resultado
page-no-result = sin resultado
page-completed = Terminado en { $seconds } s
page-failed = Falló: { $message }
page-failed-run = con error
page-changed-files = Archivos modificados
page-run = Ejecución
page-request = Petición al modelo
page-request-count = { $count ->
        [one] petición al modelo
       *[other] peticiones al modelo
    }
page-call-count = { $count ->
        [one] llamada
       *[other] llamadas
    }
page-failed-calls = { $count ->
        [one] fallida o rechazada
       *[other] fallidas o rechazadas
    }
page-tokens-read = { $count ->
        [one] token leído
       *[other] tokens leídos
    }
page-tokens-cached = en caché
page-tokens-written = { $count ->
        [one] escrito
       *[other] escritos
    }
page-time-line = Línea de tiempo
page-model-time = espera del modelo:
page-tool-time = llamadas:
page-contents = Contenido
page-search = Buscar
page-previous-match = Coincidencia anterior
page-next-match = Coincidencia siguiente
page-theme = Claro u oscuro
page-keys = Teclas
page-key-row = entrada siguiente, entrada anterior
page-key-prompt = instrucción siguiente, instrucción anterior
page-key-open = abrir o cerrar la llamada
page-key-match = coincidencia siguiente, coincidencia anterior
page-skip-to-rows = Ir a la sesión
page-close = Cerrar
page-needs-script = Esta sesión es demasiado larga para mostrarla sin JavaScript.
trace-not-written = no se puede escribir la traza en `{ $path }`: { $detail }
trace-not-sent = no se puede enviar la traza a `{ $url }`: { $detail }
trace-invalid-setting = no se envía ninguna traza: { $detail }
progress-start = iniciando
progress-model = esperando al modelo
progress-thinking = el modelo está pensando
progress-text = el modelo está escribiendo
progress-retry = esperando para repetir una petición fallida
progress-call = esperando a { $tool }: { $target }
progress-calls = { $count ->
        [one] esperando a otra llamada y a { $tool }: { $target }
       *[other] esperando a otras { $count } llamadas y a { $tool }: { $target }
    }
progress-background = esperando comandos en segundo plano
progress-end = terminando
progress-status = { $activity } ({ $time } s)
progress-status-with-tokens = { $activity } ({ $time } s, { $tokens } tokens)
run-unfinished = la respuesta hasta ahora
run-changed-files = archivos modificados
run-changed-files-without-commands = archivos modificados, sin los que cambiaron los comandos (`ibeam diff` los muestra todos)
run-no-changed-files = 0 archivos modificados
run-no-files-changed-by-file-tools = 0 archivos modificados por las herramientas de archivos; lo que cambiaron los comandos y las herramientas MCP no se cuenta
run-requests = peticiones al modelo: { $requests }, llamadas: { $calls }, tiempo: { $seconds } s
run-tokens = tokens leídos: { $read } (en caché: { $cached }), escritos: { $written }
run-cost = coste: ${ $cost }

ask-allow = ¿permitir `{ $what }`?
ask-allow-this = ¿permitir esto?
ask-no-rule = Hace falta permiso: ninguna regla lo cubre
ask-outside = se pregunta porque llega fuera del espacio de trabajo
ask-publishing = se pregunta porque publica o cambia algo en un servicio, y `ibeam undo` no lo deshace
ask-rule = se pregunta por la regla `{ $rule }`
ask-hook = pregunta el hook `{ $hook }`: { $detail }

## `policy`
policy-allowed = permitido por `{ $rule }`
policy-denied = denegado por `{ $rule }`: { $reason }
policy-needs-approval = se pregunta a una persona por `{ $rule }`: { $reason }
policy-unanalyzable = el comando no se puede leer, pues tiene { $what }
policy-runs-program = ejecuta `{ $program }` por medio de `{ $wrappers }`
policy-reads-file = lee `{ $path }`
policy-writes-file = escribe `{ $path }`
policy-rule-applies = `{ $rule }` se aplica: { $why }
policy-rule-does-not-apply = `{ $rule }` no se aplica: { $why }
policy-no-rules = no hay ninguna regla; `ibeam help configuration` dice cómo se escriben
policy-path-rule-limits = las reglas `Read` y `Write` cubren archivos por su ruta; `ibeam help security` indica dónde acaba eso para los comandos

## Sub-commands
command-logged-in = Sesión iniciada en { $provider }: la clave está guardada en { $path }
command-stream-on-terminal = este es el flujo para programas; `--output-format text` imprime texto, e `ibeam` sin `-p` inicia una conversación
command-provider-question = proveedor (`ibeam models --providers` los muestra) [{ $provider }]:
command-key-question = clave de { $provider }:
command-key-accepted = { $provider } aceptó la clave
command-key-unverifiable = La clave no se comprobó: { $provider } también responde sin clave
command-key-unchecked = La clave no se comprobó: { $message }
command-key-deleted = se borró la clave guardada de { $provider }
command-logout-question = ¿qué clave guardada se borra? ({ $providers }; una línea vacía no borra ninguna):
command-key-overridden = `{ $source }` está definida y tiene prioridad sobre la clave guardada; quítala para usar la clave guardada
command-key-remains = `{ $source }` sigue definida: `{ $provider }` tiene una clave sin ninguna guardada
command-logged-out = { $count ->
        [0] no había ninguna clave guardada que borrar
        [one] se borró { $count } clave guardada
       *[other] se borraron { $count } claves guardadas
    }
command-trust-removed = ya no es de confianza: { $path }
command-not-trusted = nada que olvidar: `{ $path }` no es de confianza
command-no-trusted-workspaces = no hay nada de confianza; `--trust` marca un espacio de trabajo como de confianza
command-approved-tools = { $count ->
        [one] aprobado el { $since }, { $count } herramienta
       *[other] aprobado el { $since }, { $count } herramientas
    }
command-no-servers = no hay servidores MCP configurados; `ibeam help mcp` explica cómo añadir uno
command-quarantine-empty = la cuarentena está vacía
command-quarantine-restored = restaurado: `{ $path }`
command-no-worktrees = ibeam no ha creado ningún worktree para este repositorio; `--worktree=NOMBRE` crea uno
command-worktree-unchanged = sin cambios
command-worktree-changes = archivos sin confirmar: { $uncommitted }, confirmaciones sin fusionar: { $unmerged }
command-worktree-unreadable = cambios desconocidos: { $detail }
command-worktree-removed = quitado: `{ $path }`; la rama `{ $branch }` se conserva
command-detached-worktree-removed = quitado: `{ $path }`
command-no-hooks = no hay hooks configurados; `ibeam help hooks` explica cómo añadir uno
command-report-written = se escribió `{ $path }`; contiene partes de prompts y archivos: léelo antes de publicarlo
command-report-of-machine-written = se escribió `{ $path }`; contiene nombres de archivos y ajustes de esta máquina, pero ninguna instrucción

## `fleet`
fleet-started = { $task }: iniciada
fleet-finished = { $task }: { $outcome } ({ $seconds } s)
fleet-retried = { $task }: se ejecutará de nuevo en { $seconds } s
fleet-stopped = { $task }: { $state }: { $reason }
fleet-refused = { $task }: queda para otros trabajadores: { $reason }
fleet-waiting = { $task }: espera un lote
fleet-restored = { $task }: continúa donde la dejó otra máquina
fleet-not-restored = { $task }: no se puede usar la instantánea de otra máquina: { $detail }
fleet-not-stored = { $task }: las otras máquinas no reciben instantánea: { $detail }
fleet-not-published = { $task }: los eventos se publicarán más tarde: { $detail }
fleet-not-traced = { $task }: aviso: no se puede escribir la traza: { $detail }
fleet-submitted = lote { $batch }: { $requests ->
        [one] una solicitud
       *[other] { $requests } solicitudes
    } a { $model }
fleet-answered = los lotes han respondido { $requests ->
        [one] una solicitud
       *[other] { $requests } solicitudes
    }
fleet-cancelled = el plazo ha vencido: se canceló el lote { $batch }
fleet-polled-again = la próxima consulta lo intenta de nuevo: { $detail }

## `context`
context-bytes = bytes
context-tokens = tokens*
context-system = Mensaje del sistema
context-tools = Herramientas
context-server-tools = Herramientas de servidores MCP
context-repository = Contenido del repositorio, que no es de confianza
context-conversation = Conversación
context-prompt = Mensaje
context-total = total (* estimados, 3 bytes cada uno)
context-free = libres en la ventana de contexto
context-window = Ventana de contexto de `{ $model }`: { $tokens } tokens
context-servers = Sin contar, porque aquí no se inician (`--start-servers` los inicia): las herramientas de { $servers }
context-commands = Comandos para un mensaje

## `about`, `status`, `doctor`
diagnosis-not-logged-in = Sesión no iniciada: no hay ninguna clave definida ni guardada (`ibeam login PROVIDER`)
diagnosis-logged-in = Sesión iniciada como { $provider } (clave de { $source })
diagnosis-model = Modelo: { $model } ({ $id }; { $origin })
diagnosis-no-model = Modelo: ninguno ({ $detail })
diagnosis-about-contract = contrato: { $version }
diagnosis-about-model = modelo: { $model }
diagnosis-about-no-model = modelo: ninguno
diagnosis-about-engine = motor integrado: sí
diagnosis-about-no-engine = motor integrado: no
diagnosis-about-queues = cliente de colas: sí
diagnosis-about-no-queues = cliente de colas: no
diagnosis-about-platform = plataforma: { $os } { $arch }
diagnosis-about-licence = licencia: MIT OR Apache-2.0
diagnosis-ok = bien
diagnosis-missing = falta
diagnosis-wrong = error
diagnosis-check-model = modelo
diagnosis-check-key = clave
diagnosis-check-embedded = modelo integrado
diagnosis-check-sessions = sesiones
diagnosis-check-cache = caché
diagnosis-check-configuration = configuración
diagnosis-check-sandbox = entorno aislado
diagnosis-key-found = { $provider }, de { $source }
diagnosis-key-not-needed = no hace falta: { $model } funciona sin clave
diagnosis-key-missing = no hay ninguna clave de API definida ni guardada; `ibeam login PROVIDER` guarda una, una variable como `$ANTHROPIC_API_KEY` la proporciona
diagnosis-embedded-missing = `ibeam setup` lo descarga (1,1 GB)
diagnosis-not-writable = no se puede escribir en `{ $path }`: hazlo escribible o indica otro directorio con `$XDG_DATA_HOME` y `$XDG_CACHE_HOME`
diagnosis-bash-purpose = la herramienta de shell ejecuta los comandos con él
diagnosis-git-purpose = opcional; los comandos del modelo pueden necesitarlo
diagnosis-python-purpose = opcional; `ibeam setup` descarga el modelo integrado con su pip

## `acp`
editor-agent = Agente
editor-agent-about = Trabaja en la tarea
editor-plan = Plan
editor-plan-about = Solo lee y termina con un plan
editor-ask = Preguntas
editor-ask-about = Solo lee y responde preguntas
editor-mode = Modo
editor-model = Modelo
editor-effort = Esfuerzo
editor-effort-default = Predeterminado
editor-effort-none = Ninguno
editor-effort-minimal = Mínimo
editor-effort-low = Bajo
editor-effort-medium = Medio
editor-effort-high = Alto
editor-effort-xhigh = Muy alto
editor-effort-max = Máximo
editor-allow-once = Permitir
editor-allow-always = Permitir siempre en esta sesión
editor-reject-once = Rechazar
editor-reject-always = Rechazar siempre en esta sesión
editor-stored-keys = Claves guardadas
editor-stored-keys-about = Usa las claves de `ibeam login`, de las variables o de la configuración
editor-login-about = Pide la clave de un proveedor en un terminal y la guarda
editor-read = Leer { $file }
editor-write = Escribir { $file }
editor-edit = Editar { $file }
editor-delete = Eliminar { $file }
editor-list = Listar { $file }
editor-search = Buscar `{ $pattern }`
editor-find = Encontrar `{ $pattern }`
editor-fetch = Descargar { $url }
editor-web-search = Buscar `{ $query }` en la web
editor-todos = Actualizar la lista de tareas
editor-subagent = Subagente: { $task }
editor-attached = adjunto: { $name }
editor-timed-out = Tiempo agotado tras { $seconds } s
editor-ended-by = Terminado por { $signal }
editor-exit-code = Código de salida { $code }

## `--help`
help-usage = Uso
help-arguments = Argumentos
help-options = Opciones
help-general = Opciones generales
help-commands = Comandos

tui-welcome = ibeam · { $model } · { $directory }
tui-welcome-help = /help muestra comandos y teclas, /model cambia el modelo
tui-opening = abriendo la sesión · { $seconds } s
tui-working = trabajando · { $seconds } s
tui-waiting = esperando al modelo · { $seconds } s
tui-thinking = pensando · { $seconds } s
tui-keys-busy = Esc interrumpe · Intro añade a este turno · Tab pone en cola
tui-keys-question = ↑ ↓ o un número, Intro · Esc interrumpe
tui-keys-explain = Intro envía · Esc rechaza sin mensaje
tui-keys-command = Esc interrumpe · Intro pone en cola
tui-keys-idle = \ Intro línea nueva · / comandos · @ archivos · ! shell · Mayús-Tab modo · Esc Esc mensajes anteriores · Ctrl-R historial · Ctrl-G editor
tui-keys-lines = \ al final de una línea: línea nueva · las líneas pegadas son un mensaje · / comandos · ! shell · Ctrl-C termina un turno, Ctrl-D el programa
tui-line-cut = el terminal corta las líneas a los 4095 bytes: pon el texto largo en un archivo y nómbralo como @ARCHIVO
tui-press-again = pulsa Ctrl-C otra vez para salir
tui-press-again-busy = hay un turno en curso: pulsa Ctrl-D otra vez para terminarlo y salir
tui-steering = para este turno: { $text }
tui-queued = después: { $text }
tui-pasted = { $count } líneas pegadas
tui-search = buscar en el historial: { $text }
tui-search-no-match = sin coincidencias en el historial: { $text } · Esc restaura la entrada
tui-hidden-lines = { $count ->
        [one] … una línea más
       *[other] … { $count } líneas más
    }
tui-lines = { $count ->
    [one] { $count } línea
   *[other] { $count } líneas
}
tui-results = { $count ->
    [one] { $count } resultado
   *[other] { $count } resultados
}
tui-calls = { $count ->
    [one] { $count } llamada
   *[other] { $count } llamadas
}
tui-tokens = { $text } tokens
tui-tokens-and-cached = { $text } tokens y { $size } en caché
tui-context-left = queda { $percent } % del contexto
tui-exit-code = código de salida { $text }
tui-allow-this = ¿Permitir esto?
tui-once = sí, una vez
tui-for-session = sí, hasta que termine el programa
tui-all-edits = sí, y todos los cambios de archivos del espacio de trabajo hasta que termine el programa
tui-always-here = sí, siempre en este proyecto: añadir la regla `{ $rule }`
tui-always = sí, siempre y en todos los proyectos: añadir la regla `{ $rule }`
tui-refuse = no
tui-refuse-and-explain = no, y decir al modelo por qué
tui-explain = ¿Por qué no? Intro lo envía al modelo, Esc solo rechaza
tui-explain-in-line = ¿Por qué no? La línea va al modelo; una línea vacía solo rechaza.
tui-allowed-once = permitido una vez
tui-allowed-for-session = permitido hasta que termine el programa
tui-allowed-all-edits = todos los cambios de archivos del espacio de trabajo están permitidos hasta que termine el programa
tui-rule-added = permitido; `{ $rule }` se añadió a `{ $path }`
tui-rule-not-written = permitido hasta que termine el programa; no se puede añadir la regla a `{ $path }`: { $detail }
tui-refused = rechazado
tui-status-session = sesión: { $id }
tui-status-model = modelo: { $name }
tui-status-mode = modo: { $mode }
tui-status-sandbox = sandbox: { $state }
tui-unknown-command = comando desconocido `{ $name }`; `/help` muestra los comandos
tui-unknown-command-near = comando desconocido `{ $name }`; ¿querías decir `{ $nearest }`?
tui-unknown-choice = desconocido: `{ $name }`; usa uno de: { $list }
tui-no-argument = `{ $name }` no lleva nada detrás, así que no se hizo nada
tui-unknown-model-near = `{ $name }` no es un modelo conocido; ¿querías decir `{ $nearest }`?
tui-unknown-model = `{ $name }` no está en la tabla de modelos conocidos; `/model` muestra los de tus servicios
tui-interrupted = interrumpido
tui-resume-with = Para continuar esta conversación: { $command }
tui-attached = adjunto: { $names }
tui-not-attached = no existe, así que no se adjuntó nada: { $names }
tui-plan-question = ¿Y ahora?
tui-plan-continue = seguir planificando
tui-plan-carry-out = llevar a cabo el plan: modo agent
tui-rewind-question = ¿Volver a antes de qué mensaje?
tui-rewind-what = ¿Qué vuelve atrás?
tui-rewind-both = la conversación y los archivos
tui-rewind-conversation = solo la conversación
tui-rewind-files = solo los archivos
tui-effort = esfuerzo: { $level }
tui-compact-requested = la conversación se acorta antes de la próxima petición al modelo
tui-nothing-to-compact = aún no hay nada que acortar: un resumen no sería más corto que la conversación
tui-compacted = conversación acortada: unos { $before } → { $after } tokens
tui-no-skills = no hay habilidades
tui-exported = escrito: { $path }
tui-earlier-turns = { $count ->
    [one] … { $count } turno anterior
   *[other] … { $count } turnos anteriores
}
tui-picker-here = Sesiones de este directorio
tui-picker-all = Sesiones de todos los directorios
tui-picker-empty = ninguna sesión aquí; Tab muestra las de todos los directorios
tui-picker-keys = ↑ ↓ elegir · Intro reanuda · Tab todos los directorios · escribe para filtrar · Esc sale
tui-pick-number = Número de la sesión que reanudar; una línea vacía no reanuda ninguna:
tui-minutes = { $count } min
tui-hours = { $count } h
tui-days = { $count } d
tui-changes-title = Cambios
tui-transcript-title = Transcripción
tui-no-changes = no se cambió ningún archivo
tui-nothing-to-undo = nada que deshacer: ningún turno de esta sesión cambió archivos
tui-already-undone = todos los cambios de esta sesión ya están deshechos; `/redo` revierte la última vez que deshiciste
tui-nothing-to-redo = nada que rehacer: no hay ningún `/undo` que revertir
tui-not-a-turn = `{ $name }` no es el número de un turno
tui-no-transcript = aún no hay ninguna conversación guardada
tui-view-keys = ↑ ↓ RePág AvPág Inicio Fin desplazan · / buscar · n N siguiente, anterior · q sale
tui-view-search = buscar: { $text }
tui-view-no-match = no encontrado: { $text }
tui-dialog-keys = ↑ ↓ o un número, Intro · Esc atrás · Ctrl-C sale
tui-dialog-keys-leave = ↑ ↓ o un número, Intro · Esc, Ctrl-C salen
tui-dialog-text-keys = Intro confirma · Esc atrás · Ctrl-C sale
tui-dialog-number = Número de la opción; una línea vacía vuelve atrás:
tui-dialog-number-leaves = Número de la opción; una línea vacía sale:
tui-dialog-empty-line = una línea vacía vuelve atrás
tui-dialog-leave = salir
tui-trust-folder = `{ $directory }` tiene configuración propia, que no es de confianza:
tui-trust-changed = La configuración de `{ $directory }` ha cambiado desde que confiaste en ella:
tui-trust-hook = hook { $event }: { $command }  ({ $file })
tui-trust-server = servidor MCP { $name }: { $target }  ({ $file })
tui-trust-setting = { $text }  ({ $file })
tui-trust-file = { $file }
tui-trust-agents = subagentes: { $names }
tui-trust-rules = instrucciones para el modelo: { $names }
tui-trust-skills = skills: { $names }
tui-trust-more = … { $count } más; `ibeam trust show` los muestra todos
tui-trust-meaning = Si confías en ella, sus hooks y servidores se inician, sus ajustes pueden permitir comandos y sus instrucciones cuentan como las tuyas. Si no, nada de eso ocurre, y sus instrucciones se marcan como no escritas por ti.
tui-trust-question = ¿Confías en esta carpeta?
tui-trust-yes = confiar, hasta que cambie su configuración
tui-trust-no = continuar sin la configuración de la carpeta
tui-trust-stored = de confianza; `ibeam trust forget` retira la confianza
tui-trust-declined = no es de confianza: su configuración no tiene efecto; `ibeam --trust` confía en ella más tarde
tui-trust-not-stored = no se puede guardar la confianza, así que la carpeta no es de confianza: { $detail }
tui-first-model = modelo: { $model } ({ $id }; { $origin }). `/model NOMBRE` o `--model NOMBRE` lo cambia; `model = "NOMBRE"` en `{ $path }` lo cambia de forma permanente
tui-first-rules = No se pregunta por los cambios de archivos de esta carpeta ni por los comandos en el entorno aislado. `/undo` deshace los cambios y `/diff` los muestra.
tui-without-undo = Esta carpeta no está en ningún repositorio git, así que `/undo` y `/diff` no tienen con qué comparar.
tui-setup-question = Ningún modelo puede responder todavía. ¿Qué quieres usar?
tui-setup-key = clave de API de un servicio
tui-setup-install = modelo pequeño en esta máquina (descarga de { $size } GB)
tui-setup-server = servidor propio, como Ollama
tui-setup-provider = ¿Qué servicio?
tui-setup-enter-key = Clave de API de { $provider } (no se muestra):
tui-setup-key-is-word = una clave es una palabra sin espacios
tui-setup-checking = preguntando a { $provider } si la clave es válida
tui-setup-fetching = descargando el modelo: { $percent } %, { $done } de { $total } GB
tui-setup-verifying = comprobando el modelo: { $percent } %
tui-setup-installed = el modelo está instalado
tui-setup-cancelled = terminado; una descarga posterior continúa donde acabó esta
tui-setup-enter-url = Dirección del servidor, como http://127.0.0.1:11434/v1:
tui-setup-asking = preguntando a { $url } por sus modelos
tui-setup-server-failed = no se puede usar `{ $url }`, escribe la dirección otra vez: { $detail }
tui-setup-model = ¿Qué modelo del servidor?
tui-setup-enter-model = El servidor no muestra modelos. Nombre del modelo:
tui-setup-server-stored = `{ $model }` es ahora tu modelo predeterminado, véase `{ $path }`
tui-setup-not-stored = no se puede escribir `{ $path }`: { $detail }
tui-loading-model = cargando el modelo integrado
tui-keys = teclas
