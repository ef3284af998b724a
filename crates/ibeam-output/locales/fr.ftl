# Français. Référence : en.ftl.

## Lines of `--output-format text`
action-read = Fichier lu
    .failed = Échec de la lecture du fichier
    .refused = Lecture du fichier non autorisée
action-edit = Fichier modifié
    .failed = Échec de la modification du fichier
    .refused = Modification du fichier non autorisée
action-create = Nouveau fichier créé
    .failed = Échec de l'écriture du fichier
    .refused = Écriture du fichier non autorisée
action-shell = Commande exécutée dans le terminal
    .failed = Échec de la commande dans le terminal
    .refused = Exécution de la commande dans le terminal non autorisée
action-background = Commande lancée en arrière-plan
    .failed = Échec de la commande en arrière-plan
    .refused = Lancement de la commande en arrière-plan non autorisé
action-delete = Fichier supprimé
    .failed = Échec de la suppression du fichier
    .refused = Suppression du fichier non autorisée
action-search = Recherche effectuée dans les fichiers
    .failed = Échec de la recherche dans les fichiers
    .refused = Recherche dans les fichiers non autorisée
action-find = Fichiers trouvés
    .failed = Échec de la recherche de fichiers
    .refused = Recherche de fichiers non autorisée
action-list = Répertoire listé
    .failed = Échec du listage du répertoire
    .refused = Listage du répertoire non autorisé
action-todos = Liste de tâches mise à jour
    .failed = Échec de la mise à jour de la liste de tâches
    .refused = Mise à jour de la liste de tâches non autorisée
action-fetch = Page web récupérée
    .failed = Échec de la récupération de la page web
    .refused = Récupération de la page web non autorisée
action-web-search = Recherche web effectuée
    .failed = Échec de la recherche web
    .refused = Recherche web non autorisée
action-mcp = Outil MCP appelé
    .failed = Échec de l'outil MCP
    .refused = Appel de l'outil MCP non autorisé
action-task = Sous-agent exécuté
    .failed = Échec du sous-agent
    .refused = Exécution du sous-agent non autorisée
action-other = Outil `{ $tool }` appelé
    .failed = Échec de l'outil `{ $tool }`
    .refused = Appel de l'outil `{ $tool }` non autorisé
action-with-detail = { $action } : { $detail }

## Failures: usage
reason-usage = { $detail }
cli-line-usage = { $detail }
    .hint = `ibeam help flags` affiche les options, `ibeam help commands` les commandes
cli-command-usage = { $detail }
    .hint = `{ $command } --help` affiche ses arguments et ses options
cli-mistyped-command = `{ $word }` n'est pas une commande, mais ressemble à `{ $near }`
    .hint = vouliez-vous dire `ibeam { $near }` ?
    .hint-prompt = pour l'envoyer comme prompt : `ibeam -p { $word }`, ou écrivez plus de mots
cli-conversation-command = `{ $word }` n'est pas une commande ; dans une conversation, il y a `{ $near }`
    .hint = `ibeam` ouvre une conversation ; saisissez-y `{ $near }`
    .hint-prompt = pour l'envoyer comme prompt : `ibeam -p { $word }`, ou écrivez plus d'un mot
cli-unknown-setting = la configuration contient le réglage inconnu `{ $key }` (`{ $place }`)
    .hint = corrigez-le ou supprimez-le ; `ibeam help configuration` énumère les réglages
cli-unknown-topic = `{ $word }` n'est ni une commande ni un sujet
    .hint = `ibeam help topics` énumère les sujets, `ibeam help commands` les commandes
cli-mistyped-topic = `{ $word }` n'est ni une commande ni un sujet
    .hint = vouliez-vous dire `ibeam help { $near }` ?
    .hint-topics = `ibeam help topics` énumère les sujets, `ibeam help commands` les commandes
cli-not-a-command = `{ $word }` n'est pas une commande
    .hint = `ibeam help flags` affiche les options, `ibeam help commands` les commandes
    .hint-prompt = pour l'envoyer comme prompt : `ibeam -p { $word }`, ou écrivez plus d'un mot
cli-resume-in-prompt = `resume` après `-p` fait partie du prompt
    .hint = pour continuer la session : `ibeam resume { $session } -p PROMPT`
    .hint-prompt = pour l'envoyer comme prompt, mettez `--` devant : `ibeam -p -- resume …`
reason-empty-prompt = le prompt est vide
    .hint = donnez-le en argument, `ibeam -p "…"`, ou sur stdin
reason-format-without-print = `--output-format` n'est valable qu'en mode impression
    .hint = ajoutez `--print`, ou reliez stdin ou stdout à un tube
reason-not-text = { $what } n'est pas du texte UTF-8 sans caractère NUL
    .hint = convertissez-le d'abord en UTF-8, par exemple avec `iconv`
reason-input-line = la ligne { $line } de stdin n'est pas un message valide : { $detail }
    .hint = `ibeam schema --format input` décrit les lignes ; reprenez la session avec les lignes restantes
reason-invalid-json-schema = `{ $path }` n'est pas un JSON Schema valide ({ $place }) : { $detail }
    .hint = utilisez un fichier JSON Schema 2020-12 dont les références restent dans le fichier
reason-unsupported = cette version ne prend pas en charge { $what }
    .hint = `ibeam help flags` affiche ce qu'elle sait faire

## Failures: keys, models, requests
reason-no-key = aucune clé d'API pour `{ $provider }`
    .hint = définissez `${ $variable }`, ou lancez `ibeam login { $provider }`
    .hint-local = { $embedded ->
        [yes] `--model embedded` utilise le modèle intégré, qui n'a pas besoin de clé
       *[no] `ibeam setup` installe un petit modèle qui n'a pas besoin de clé
    }
reason-no-model = aucune clé n’est définie ni enregistrée : aucun modèle n’est utilisable
    .hint = définissez une variable comme `$ANTHROPIC_API_KEY`, ou lancez `ibeam login PROVIDER` ; `ibeam models --providers` affiche les fournisseurs
    .hint-server = un serveur sur cette machine n'a pas besoin de clé : `--model ollama/NAME`
reason-key-unavailable = `{ $setting }` n'a fourni aucune clé d'API pour `{ $provider }` : { $detail }
    .hint = `ibeam config explain` montre où `{ $setting }` est défini
reason-key-refused = `{ $provider }` a refusé la clé d'API : { $detail }
    .hint = `ibeam login { $provider }` enregistre une autre clé ; `ibeam status` indique celle qui sert
reason-key-refused-of-source = `{ $provider }` a refusé la clé d'API de `{ $source }` : { $detail }
    .hint = modifiez `{ $source }` ou retirez-la ; elle a priorité sur la clé qu'enregistre `ibeam login { $provider }`
reason-unknown-provider = aucun fournisseur ne s'appelle `{ $provider }`
    .hint = `ibeam models --providers` affiche les fournisseurs
reason-unknown-model = le fournisseur `{ $provider }` ne connaît pas le modèle `{ $model }`
    .hint = `--model` en choisit un autre ; `ibeam models` affiche ce que votre clé permet d'utiliser
reason-model-without-provider = aucun fournisseur connu pour le modèle `{ $model }`
    .hint = précisez-le avec `--model PROVIDER/NAME` ; `ibeam models` affiche les noms
reason-no-default-model = `{ $provider }` a une clé, mais aucun modèle par défaut
    .hint = indiquez un modèle : `--model { $provider }/NAME` ; `ibeam models` affiche les noms
reason-model-not-installed = le modèle intégré `{ $model }` n'est pas installé
    .hint = `ibeam setup` le télécharge (1,1 Go) ; une exécution avec `--setup` le fait d'abord
    .hint-provider = pour utiliser plutôt un fournisseur, lancez `ibeam login PROVIDER`
reason-no-key-and-no-model = aucune clé n’est définie, et le modèle intégré `{ $model }` n’est pas installé
    .hint-provider = définissez une variable comme `$ANTHROPIC_API_KEY`, ou lancez `ibeam login PROVIDER` ; `ibeam models --providers` affiche les fournisseurs
    .hint-server = un serveur sur cette machine n’a pas besoin de clé : `--model ollama/NAME`
    .hint = `ibeam setup` télécharge le modèle intégré (1,1 Go) ; une exécution avec `--setup` le fait d’abord
cli-setup-failed = le modèle intégré n'a pas pu être installé : { $detail }
    .hint = relancez `ibeam setup` pour continuer, ou choisissez une source : `ibeam setup --from registry|hub|FILE`
reason-local-model = le modèle intégré ne fonctionne pas : { $detail }
    .hint = `ibeam doctor` indique ce qui manque ; `ibeam setup` réinstalle le modèle
reason-no-local-engine = ce programme a été compilé sans le modèle intégré
    .hint = choisissez un fournisseur avec `ibeam login PROVIDER`, ou compilez-le avec la fonctionnalité `embedded`
reason-bad-request = `{ $provider }` a rejeté la requête : { $detail }
    .hint = changez ce que nomme le message, ou choisissez un autre modèle avec `--model PROVIDER/NAME`
reason-bad-request-reasoning = `{ $provider }` a rejeté la requête : { $detail }
    .hint = omettez `--effort` et `--thinking-budget`, ou choisissez un autre niveau
reason-bad-request-tools = `{ $provider }` a rejeté la requête : { $detail }
    .hint = `--without TOOL` omet un outil ; `ibeam mcp list-tools` liste ceux des serveurs
reason-bad-request-media = `{ $provider }` a rejeté la requête : { $detail }
    .hint = omettez l'image ou le document
reason-bad-request-output-limit = `{ $provider }` a rejeté la requête : { $detail }
    .hint = mettez un nombre plus petit dans `limits.max_output_tokens`
reason-context-too-long = la conversation est trop longue pour le modèle de `{ $provider }` : { $detail }
    .hint = commencez une nouvelle session, ou choisissez avec `--model` un modèle au contexte plus grand

## Failures: provider, network
reason-rate-limited = `{ $provider }` limite la fréquence des requêtes : { $detail }
    .hint = réessayez plus tard, ou choisissez un autre modèle avec `--model`
reason-quota-exhausted = le crédit ou le quota chez `{ $provider }` est épuisé : { $detail }
    .hint = vérifiez la facturation de votre compte, ou choisissez un modèle d'un autre fournisseur avec `--model` ou `--fallback-model`
reason-provider-failed = `{ $provider }` a échoué : { $detail }
    .hint = réessayez plus tard, ou choisissez un autre modèle avec `--model`
reason-answer-truncated = la réponse de `{ $provider }` s'est arrêtée avant d'être complète
    .hint = réessayez ; un proxy sur le chemin coupe peut-être les longues réponses
reason-not-recorded = les enregistrements ne contiennent pas cette requête ; le plus proche est `{ $recording }` : { $difference }
    .hint = enregistrez à nouveau l'exécution avec `--record` dans un répertoire vide
reason-unreachable = impossible de joindre `{ $address }` : { $detail }
    .hint = vérifiez l'adresse, le réseau et `$HTTPS_PROXY`
reason-server-not-running = { $server } ne fonctionne pas à l’adresse `{ $address }` : { $detail }
    .hint = démarrez-le, ou indiquez son adresse avec `--endpoint URL`
reason-tls = pas de connexion sécurisée à `{ $address }` : { $detail }
    .hint = vérifiez l'horloge et les certificats de ce système
reason-no-tls = le serveur à `{ $address }` ne parle pas TLS
    .hint = l'adresse d'un serveur sans TLS commence par `http://`
reason-answer-too-slow = la réponse de `{ $provider }` n’était pas complète après { $seconds } s
    .hint = demandez des étapes plus petites, ou augmentez `timeouts.answer`
reason-stalled = rien n'est venu de `{ $provider }` pendant { $seconds } s
    .hint = réessayez plus tard, ou choisissez un autre modèle avec `--model`

## Failures: limits
reason-parked = l'exécution est en attente d'une réponse à `{ $path }`
    .hint = `ibeam -p --resume=ID --unpark --park-requests DIR` la poursuit dès que la réponse est là
reason-fleet-driver-gone = le pilote de la flotte n'est plus là, et sans lui les limites de la flotte n'autorisent aucune requête
    .hint = relancez le même `ibeam fleet run` ou `ibeam fleet worker` ; il reprend l'exécution
reason-turn-limit = { $limit ->
        [one] l'exécution a atteint sa limite de { $limit } requête au modèle
       *[other] l'exécution a atteint sa limite de { $limit } requêtes au modèle
    }
    .hint = augmentez-la avec `--max-turns`
    .hint-resume = la session est conservée ; poursuivez avec `--continue`
reason-token-limit = l’exécution a épuisé ses { $limit } tokens
    .hint = augmentez `--max-tokens`
    .hint-resume = la session est conservée ; poursuivez avec `--continue`
reason-cost-limit = l’exécution a épuisé son budget de { $limit } USD
    .hint = augmentez `--max-cost`
    .hint-resume = la session est conservée ; poursuivez avec `--continue`
reason-tool-call-limit = { $limit ->
        [one] l’exécution a épuisé son { $limit } appel d’outil
       *[other] l’exécution a épuisé ses { $limit } appels d’outils
    }
    .hint = augmentez `--max-tool-calls`
    .hint-resume = la session est conservée ; poursuivez avec `--continue`
reason-loop-guard = { $count ->
        [one] le modèle a appelé `{ $tool }` { $count } fois avec les mêmes arguments et le même résultat
       *[other] le modèle a appelé `{ $tool }` { $count } fois avec les mêmes arguments et le même résultat
    }
    .hint = formulez la tâche autrement, ou choisissez un autre modèle avec `--model`
reason-empty-answer = le modèle n'a donné ni texte ni appel d'outil, même interrogé de nouveau
    .hint = formulez la tâche autrement, ou choisissez un autre modèle avec `--model`
reason-output-limit = la limite de sortie a coupé la réponse du modèle à plusieurs reprises
    .hint = demandez des étapes plus petites, ou choisissez un autre modèle avec `--model`
reason-answer-paused = le service a mis la réponse en pause { $count } fois de suite sans jamais la terminer
    .hint = formulez la tâche autrement, ou choisissez un autre modèle avec `--model`
reason-invalid-arguments = les arguments des appels à `{ $tool }` n’étaient pas du JSON valide dans { $count } réponses de suite
    .hint = demandez des étapes plus petites, ou choisissez un autre modèle avec `--model`
reason-refused-with-message = le modèle a refusé de répondre : { $message }
    .hint = formulez la tâche autrement, ou choisissez un autre modèle avec `--model`
reason-refused-in-category = le modèle a refusé de répondre ({ $category }) : { $message }
    .hint = formulez la tâche autrement, ou choisissez un autre modèle avec `--model`
reason-refused = le modèle a refusé de répondre
    .hint = formulez la tâche autrement, ou choisissez un autre modèle avec `--model`
reason-prompt-refused = le hook `{ $hook }` a refusé le message : { $detail }
    .hint = formulez le message autrement ; `ibeam help hooks` indique les fichiers qui configurent des hooks
reason-timed-out = l'exécution a duré plus de { $seconds } s
    .hint = augmentez `--timeout`
    .hint-resume = la session est conservée ; poursuivez avec `--continue`
reason-denied = { $count ->
        [one] { $count } appel d'outil a été refusé
       *[other] { $count } appels d'outils ont été refusés
    }
    .hint = les avertissements disent pourquoi ; `ibeam policy test` explique chaque décision
reason-tool-errors = { $count ->
        [one] { $count } appel d'outil a échoué
       *[other] { $count } appels d'outils ont échoué
    }
    .hint = `--output-format stream-json` montre chaque appel avec son résultat
reason-background-stopped = { $count ->
        [one] { $count } commande tournait encore en arrière-plan à la fin et a été arrêtée
       *[other] { $count } commandes tournaient encore en arrière-plan à la fin et ont été arrêtées
    }
    .hint = retirez `--fail-on background`, ou laissez-les finir avec `--background wait`
reason-no-text = l'exécution n'a donné aucun texte, seulement des appels d'outils
    .hint = retirez `--fail-on empty` pour que cela compte comme un succès
reason-answer-mismatch = { $repairs ->
        [one] la réponse ne correspond pas au JSON Schema après une correction : { $detail }
       *[other] la réponse ne correspond pas au JSON Schema après { $repairs } corrections : { $detail }
    }
    .hint = utilisez un schéma plus simple, précisez la forme exigée dans le prompt ou utilisez un autre modèle

## Failures: sessions, files, system
reason-session-damaged = la session `{ $session }` est endommagée à la ligne { $line } : { $detail }
    .hint = `ibeam sessions check { $session } --repair` conserve ce qui est intact et met le reste de côté
    .hint-others = `ibeam sessions list` affiche les autres sessions
reason-unknown-session = la session `{ $session }` n'existe pas
    .hint = `ibeam sessions list` affiche les sessions
reason-session-id-too-short = le début `{ $prefix }` d'un ID de session est trop court ; indiquez au moins { $minimum } caractères
    .hint = `ibeam sessions list` affiche les sessions
reason-ambiguous-session = plusieurs ID de session commencent par `{ $prefix }` : { $sessions } ; indiquez plus de caractères
    .hint = `ibeam sessions list` affiche les sessions
cli-unknown-run = `{ $source }` n'a pas d'exécution { $run } ; il y en a { $runs }
    .hint = sans `--run`, toutes sont montrées
cli-no-session-or-file = `{ $name }` n'est ni une session ni un fichier
    .hint = `ibeam sessions list` énumère les sessions ; le début d'un ID doit avoir au moins 4 caractères
cli-not-in-quarantine = `{ $id }` n'est pas en quarantaine
    .hint = `ibeam quarantine list` affiche les noms
cli-unknown-worktree = ibeam n’a créé aucun worktree `{ $name }` pour ce dépôt
    .hint = `ibeam worktree list` les affiche
cli-worktree-in-use = vous êtes dans le worktree `{ $name }`
    .hint = supprimez-le depuis un autre répertoire, ou indiquez-en un avec `--workspace`
cli-worktree-has-changes = le worktree `{ $name }` contient des modifications qui ne sont nulle part ailleurs : fichiers non validés : { $uncommitted }, commits non fusionnés : { $unmerged }
    .hint = validez-les et fusionnez-les ; ou supprimez-le avec `--force` : sa branche reste, les modifications non validées sont perdues
cli-worktree-unreadable = on ne sait pas si le worktree `{ $name }` contient des modifications : { $detail }
    .hint = `--force` le supprime dans tous les cas ; sa branche reste
cli-origin-unknown = on ne sait pas d'où vient `{ $id }`
    .hint = `--to PATH` le déplace ailleurs
cli-nothing-to-undo = la session `{ $session }` n'a rien à annuler
    .hint = il y a des points de contrôle dans les dépôts git, pour les tours dont les outils peuvent modifier des fichiers ; `ibeam diff` montre ce qu'une session a modifié ; `ibeam undo ID` prend une autre session, et `ibeam sessions list` les énumère
cli-nothing-to-redo = la session `{ $session }` n'a rien à rétablir
    .hint = `ibeam undo --redo` revient sur le dernier `ibeam undo` d'une session
cli-already-undone = ce que la session `{ $session }` a modifié est déjà annulé
    .hint = `ibeam undo { $session } --redo` le rétablit
cli-session-held = la session `{ $session }` est utilisée par `{ $holder }`
    .hint = dans cette conversation, `/undo` et `/redo` le font ; ou terminez-la d'abord
cli-no-checkpoints = la session `{ $session }` a modifié des fichiers, mais n'a pas de points de contrôle
    .hint = les points de contrôle nécessitent un dépôt git ; `ibeam replay { $session }` montre les modifications
cli-unknown-turn = la session `{ $session }` n'a pas de tour { $turn } ; elle en a { $turns }
    .hint = `ibeam replay SESSION` montre les tours
cli-no-repository = l'espace de travail `{ $path }` n'est dans aucun dépôt git de cet utilisateur
    .hint = les points de contrôle nécessitent git ; pour un autre espace de travail, utilisez `--workspace DIR`
cli-files-changed-since = { $count ->
        [one] `{ $path }` a changé depuis ; rien n'a été restauré
       *[other] { $count } fichiers ont changé depuis, comme `{ $path }` ; rien n'a été restauré
    }
    .hint = `--force` les écrase ; `ibeam undo --redo` les rétablit ensuite
cli-files-changed-since-undo = { $count ->
        [one] `{ $path }` a changé depuis ; rien n'a été restauré
       *[other] { $count } fichiers ont changé depuis, comme `{ $path }` ; rien n'a été restauré
    }
    .hint = `--force` les écrase ; `--redo` indique alors le commit qui contient ce qui a été écrasé
cli-checkpoint-failed = impossible d'utiliser le point de contrôle : { $detail }
    .hint = `ibeam doctor` vérifie l'installation ; les points de contrôle sont dans `checkpoints` du répertoire de données d'ibeam
cli-invalid-tasks = { $count ->
        [one] la ligne { $line } de `{ $source }` n'est pas une tâche valide : { $detail }
       *[other] `{ $source }` contient { $count } tâches non valides ; la première est à la ligne { $line } : { $detail }
    }
    .hint = corrigez le fichier, ou exécutez les tâches valides avec `--skip-invalid` ; le format : `ibeam help fleet`
cli-no-tasks = le fichier de tâches `{ $source }` ne contient aucune tâche
    .hint = chaque ligne est un objet JSON ; le format : `ibeam help fleet`
cli-not-an-export = `{ $source }` n'est pas une session exportée
    .hint = `ibeam sessions export SESSION FILE` en écrit une
cli-damaged-export = la session exportée dans `{ $source }` est incomplète ou a été modifiée
    .hint = `ibeam sessions export SESSION FILE` l'écrit à nouveau
cli-invalid-hook-input = `{ $place }` n'est pas un objet JSON
    .hint = l'objet contient les champs de l'événement qui diffèrent de l'exemple ; `ibeam help hooks` contient un exemple
cli-no-fleet = il n'y a pas de flotte dans `{ $directory }`
    .hint = `ibeam fleet run TASKS --dir { $directory }` en démarre une
cli-no-batch-fleet = aucune flotte n'a été démarrée avec `--batch` dans `{ $directory }`
    .hint = `ibeam fleet run TASKS --batch --dir DIR` en démarre une ; `ibeam help batch` explique les lots
cli-fleet-task-changed = la tâche `{ $task }` diffère de celle de `{ $directory }`
    .hint = utilisez un autre répertoire avec `--dir`, ou donnez un autre id à la tâche
cli-fleet-in-use = un autre processus exécute la flotte de `{ $directory }`
    .hint = attendez qu'il se termine ; `ibeam fleet status { $directory }` montre son état
cli-fleet-tasks-failed = { $failed } tâches sur { $total } n'ont pas réussi
    .hint = `ibeam fleet report { $directory }` montre les échecs
cli-fleet-not-applied = { $failed } modifications sur { $total } n'ont pas été appliquées
    .hint = les lignes ci-dessus en donnent les raisons ; aucune n'a été appliquée en partie
cli-fleet-unfinished = { $unfinished ->
        [one] une tâche n'est pas terminée : { $detail }
       *[other] { $unfinished } tâches ne sont pas terminées : { $detail }
    }
    .hint = une fois la cause supprimée, la même commande les reprend
cli-fleet-budget-spent = { $unfinished ->
        [one] une tâche n'est pas terminée : le budget est épuisé
       *[other] { $unfinished } tâches ne sont pas terminées : le budget est épuisé
    }
    .hint = `ibeam fleet run` avec un `--budget-usd` ou un `--budget-tokens` plus grand les reprend
cli-fleet-waiting = { $waiting ->
        [one] une tâche attend un lot
       *[other] { $waiting } tâches attendent des lots
    }
    .hint = `ibeam fleet poll { $directory }` les poursuit quand des réponses sont là ; avec `--wait`, la commande reste jusqu'à la fin
cli-stream-damaged = `{ $source }` n'est pas un flux valide (ligne { $line } : { $detail })
    .hint = vérifiez que c'est le bon fichier et qu'il est complet ; `ibeam check FILE` affiche les erreurs d'un flux d'ibeam
reason-retold = { $detail }
    .hint = la dernière ligne du flux dit sa classe et son code de sortie
reason-no-session-to-continue = il n’y a pas encore de session dans `{ $cwd }`
    .hint = `ibeam "PROMPT"` sans `--continue` en commence une
    .hint-all = `ibeam sessions list --all` affiche les sessions de tous les répertoires
reason-session-elsewhere = la session `{ $session }` appartient à l'espace de travail `{ $cwd }`
    .hint = poursuivez-la là-bas, ou avec `--workspace`
reason-no-plan = aucune exécution de la session `{ $session }` ne s'est terminée par un plan
    .hint = créez-en un d'abord : `ibeam -p --mode plan "TÂCHE"`, puis `--from-plan` avec l'identifiant de sa session
reason-invalid-trajectory = `{ $path }` n’est pas une trajectoire au format ATIF : { $detail }
    .hint = le format est un objet JSON avec `schema_version`, `agent` et `steps` ; `ibeam replay SESSION --output-format atif` en écrit un
reason-session-busy = la session `{ $session }` est utilisée par `{ $holder }`
    .hint = attendez qu'elle se termine, ou continuez dans une nouvelle session avec le même historique : `--fork`
reason-session-leased = la session `{ $session }` est détenue par `{ $holder }`, dont la réservation est le fichier `{ $path }`
    .hint = si ce processus ne tourne plus, supprimez le fichier ; ou continuez dans une nouvelle session avec le même historique : `--fork`
reason-session-removed = la session de cette exécution a été supprimée pendant son travail : `{ $path }` n'existe plus
    .hint = ce que l'exécution a changé dans l'espace de travail reste ; `--ephemeral` exécute sans session
reason-input-too-large = le prompt sur { $what } dépasse { $megabytes } Mio
    .hint = indiquez plutôt dans le prompt le nom d'un fichier à lire
reason-stdin-silent = stdin n'a rien envoyé et ne s'est pas terminé en { $seconds } s
    .hint = donnez le prompt en argument et fermez stdin avec `</dev/null`
reason-workspace-gone = l’espace de travail `{ $path }` a été supprimé pendant l’exécution
    .hint-resume = la session est conservée ; continuez avec `--resume` dans un autre répertoire
reason-worktree-setup = la commande de préparation `{ $command }` du worktree a échoué (`{ $path }`) : { $detail }
    .hint-network = elle s'exécute dans le bac à sable, comme les commandes du modèle : `--allow-net HOST` lui accorde un hôte
    .hint-skip = le worktree est conservé et la prochaine exécution recommence la préparation ; `--skip-worktree-setup` l'omet
reason-no-input = impossible de lire `{ $path }` : { $detail }
    .hint = vérifiez le chemin et ses permissions
reason-cannot-create = impossible de créer `{ $path }` : { $detail }
    .hint = vérifiez les permissions de son répertoire et l'espace libre
cli-file-exists = `{ $path }` existe déjà
    .hint = choisissez un autre nom, ou supprimez d'abord ce fichier
cli-name-taken = `{ $path }` existe et n'est pas un lien de ce programme ; rien n'a été changé
    .hint = déplacez-le, ou choisissez un autre répertoire et placez-le avant celui-ci dans PATH
reason-io = échec de lecture ou d'écriture sur { $what } : { $detail }
    .hint = vérifiez l'espace libre et les permissions
reason-output-closed = le lecteur de stdout est parti
    .hint-resume = la session est conservée ; poursuivez avec `--continue`
reason-system = le système a refusé { $what } : { $detail }
    .hint = `ulimit -a` affiche les limites de processus et de fichiers ouverts
reason-no-sandbox = le bac à sable des commandes n’est pas disponible : { $detail }
    .hint = `--sandbox disabled` s’en passe ; une commande ne s’exécute alors que si une règle l’autorise (`--allow`, `--force`)
    .hint-doctor = `ibeam doctor --sandbox` dit ce que ce système refuse
reason-untrusted = `{ $what }` se trouve dans { $path }, et cet espace de travail n’est pas approuvé
    .hint = lisez le fichier, puis donnez `--trust`
reason-bad-config = la configuration dans `{ $place }` est incorrecte : { $detail }
    .hint = `ibeam config explain` indique le fichier ou la variable qui fixe chaque valeur
reason-bad-json-config = la configuration dans `{ $place }` est incorrecte : { $detail }
    .hint = `ibeam help { $page }` décrit ce fichier
reason-unreadable-config = impossible de lire la configuration `{ $path }` : { $detail }
    .hint = vérifiez qui peut la lire ; `ibeam config path` affiche les fichiers de la configuration
reason-mcp-server-failed = le serveur MCP `{ $server }` n'a pas démarré : { $detail }
    .hint = `ibeam mcp list` indique le fichier qui le configure ; sans `required = true`, les exécutions continuent sans le serveur
reason-signalled = arrêté par `{ $signal }`
    .hint-resume = la session est conservée ; poursuivez avec `--continue`
reason-internal = erreur interne : { $detail }
    .hint = c'est un bogue d'ibeam ; `ibeam about` affiche ce qu'il faut pour le signaler
failure-retry-after = { $message } ; nouvel essai possible dans { $time }
failure-near-name = vouliez-vous dire `{ $near }` ?
failure-request-id = l'identifiant de la requête échouée chez le fournisseur est `{ $id }`

## Table des échecs
code-failed = la réponse ne correspond pas au schéma de --json-schema, même après corrections
code-usage = options, demande vide, format sans mode impression, ou ligne non valide de --input-format stream-json
code-denied = un hook a refusé le message ; ou un appel a été refusé ou a échoué, aucun texte, ou du travail encore en cours, et --fail-on en fait un échec
code-auth = aucune clé, ou le fournisseur l’a refusée
code-model = modèle inconnu, ou le modèle intégré n’est pas installé
code-request = le fournisseur a rejeté la requête
code-context = la conversation est trop longue pour le modèle, même raccourcie
code-rate-limited = trop de requêtes, après les nouvelles tentatives, ou quota épuisé
code-provider = le fournisseur a échoué, après les nouvelles tentatives
code-network = aucune connexion, ou elle a été coupée
code-tls = aucune connexion sécurisée
code-stalled = rien n’est venu pendant trop longtemps
code-limit = une limite de l’exécution : requêtes, tokens, coût, appels, ou le même appel encore et encore
code-empty = le modèle n’a donné ni texte ni appel, même redemandé
code-refused = le modèle a décliné
code-timeout = l’exécution a duré plus que --timeout
code-sandbox = un bac à sable a été demandé et n’est pas disponible
code-untrusted = ce qui a été demandé exige un espace de travail approuvé
code-too-large = le prompt sur stdin est trop long ou sans fin
code-data = une session est endommagée, ou un fichier n'a pas le format attendu
code-noinput = session ou fichier inconnu, espace de travail disparu, ou stdin sans fin
code-internal = un bogue d’ibeam
code-os = le système a refusé un processus, un fil ou un fichier
code-cantcreat = un répertoire ou un fichier ne peut être créé
code-io = le disque est plein, ou le lecteur de stdout est parti
code-busy = un autre processus tient la session
code-config = la configuration est incorrecte
code-parked = l'exécution attend la réponse à une requête (--park-requests)
code-signal = un signal a demandé l’arrêt

## Warnings
notice-embedded-model = le petit modèle intégré `{ $model }` répond ; choisissez-en un autre avec `--model` ou `ibeam login PROVIDER`
notice-embedded-model-with-key = { $message } ; { $detail }
notice-effort-ignored = `--effort` et `--thinking-budget` sont sans effet : le modèle `{ $model }` n'a pas de réglage du raisonnement
notice-effort-changed = le modèle `{ $model }` n'accepte pas l'effort `{ $asked }` ; `{ $used }` est utilisé
notice-default-model-replaced = le service n'offre pas le modèle par défaut `{ $from }` ; `{ $to }` le remplace
unused-key = `${ $variable }` est définie, mais cette version ne peut pas utiliser directement une clé de { $service } : passez par OpenRouter pour ses modèles (`ibeam login openrouter`) ou, s'il a une API Chat Completions, définissez `base_url` et `key_variable` dans `[providers.NAME]`
notice-stdin-ignored = stdin n'a rien envoyé en { $seconds } s et a été ignoré ; `--stdin ignore` évite l'attente
notice-arguments-ignored = ces arguments de `{ $dialect }` n'ont pas d'équivalent dans ibeam et ont été ignorés : { $arguments }
notice-budget-not-enforced = la limite du coût n'est pas appliquée : le prix de `{ $model }` n'est pas connu ; définissez `models.prices."{ $model }" = "IN/OUT"` en dollars pour un million de tokens
notice-session-gaps = { $count ->
        [one] des événements manquent, se répètent ou sont déplacés à { $count } endroit du journal de cette session : la conversation peut être incomplète ; `ibeam sessions check` donne les détails
       *[other] des événements manquent, se répètent ou sont déplacés à { $count } endroits du journal de cette session : la conversation peut être incomplète ; `ibeam sessions check` donne les détails
    }
notice-session-lease-file = le système de fichiers de cette session ne sait pas verrouiller les fichiers ; `{ $path }` protège la session d'un second écrivain pendant cette exécution
notice-session-unsynced = l'exécution n'a plus attendu le disque ; il peut manquer à une session reprise ses derniers enregistrements
notice-calls-denied = { $count ->
        [one] { $count } appel d'outil a été refusé
       *[other] { $count } appels d'outils ont été refusés
    }
notice-unknown-stop-reason = le fournisseur a terminé sa réponse pour la raison inconnue `{ $word }` ; ses appels sont complets et ont été acceptés
notice-answer-cut = la limite de sortie a coupé la réponse ; le modèle a été invité à poursuivre
notice-answer-interrupted = { $message } ; le modèle a été invité à poursuivre sa réponse à partir de là
notice-websocket-unavailable = `{ $provider }` n'est pas utilisable par WebSocket ({ $detail }) ; les requêtes passent par HTTP
notice-thinking-refused = `{ $provider }` a refusé le raisonnement antérieur du modèle ; la requête a été répétée sans lui
notice-tools-refused = `{ $provider }` a refusé des outils, qui sont désormais écartés de cette session : { $tools }
notice-tools-beyond-limit = `{ $provider }` accepte au plus { $limit } outils ; ceux-ci sont écartés : { $tools }
notice-files-refused = `{ $provider }` a refusé des fichiers, qui sont désormais écartés de cette session : { $files }
notice-images-damaged = des images sont endommagées ou incomplètes et ne sont pas envoyées : { $files }
notice-images-too-large = `{ $provider }` accepte des images d’au plus { $limit } pixels de côté ; celles-ci ne sont pas envoyées : { $files }
notice-files-beyond-limit = `{ $provider }` accepte au plus { $limit } fichiers de ce type dans une conversation ; les plus anciens ne sont plus envoyés : { $files }
notice-model-fallback = `{ $from }` n’est pas disponible ({ $message }) ; `{ $to }` prend le relais
notice-fallback-unusable = `{ $model }` ne peut pas servir de modèle de secours : { $message }
notice-answer-paused = le service a mis la réponse en pause ; elle lui a été renvoyée pour être complétée
notice-empty-answer = la réponse était vide ; le modèle a été interrogé de nouveau
notice-answer-mismatch = la réponse ne correspond pas au JSON Schema ; le modèle a été invité à la corriger (correction { $attempt }) : { $detail }
notice-repeated-call = { $count ->
        [one] le modèle a appelé `{ $tool }` { $count } fois avec les mêmes arguments et le même résultat
       *[other] le modèle a appelé `{ $tool }` { $count } fois avec les mêmes arguments et le même résultat
    }
notice-turns-near = { $percent } % des requêtes au modèle de cette exécution sont utilisées ; le modèle a été prié de conclure
notice-tokens-near = { $percent } % des tokens de cette exécution sont utilisés ; le modèle a été prié de conclure
notice-cost-near = { $percent } % du budget de cette exécution est utilisé ; le modèle a été prié de conclure
notice-calls-near = { $percent } % des appels d’outils de cette exécution sont utilisés ; le modèle a été prié de conclure
notice-time-near = { $percent } % du temps de cette exécution est écoulé ; le modèle a été prié de conclure
notice-unknown-config-key = `{ $key }` dans `{ $place }` n'est pas un réglage connu et a été ignoré
notice-unknown-config-key-near = `{ $key }` dans `{ $place }` n'est pas un réglage connu et a été ignoré ; vouliez-vous dire `{ $near }` ?
notice-untrusted-config-key = `{ $key }` dans `{ $path }` a été ignoré : seul un espace de travail de confiance peut le fixer (`--trust`)
notice-forbidden-config-key = `{ $key }` dans `{ $path }` a été ignoré : un projet ne peut pas fixer cette valeur ; la configuration de l'utilisateur le peut
notice-mcp-server-failed = le serveur MCP `{ $server }` manque : { $detail }
notice-mcp-server-untrusted = le serveur MCP `{ $server }` de `{ $path }` n'a pas été démarré : seul un espace de travail de confiance peut démarrer des programmes (`--approve-mcps` ou `--trust`)
notice-mcp-server-unsupported = le serveur MCP `{ $server }` utilise l'ancien transport `sse`, qui n'est pas pris en charge ; configurez son URL pour « streamable HTTP »
notice-hook-failed = le hook `{ $hook }` ({ $event }) a échoué et l'exécution a continué sans lui : { $detail }
notice-subagents-untrusted = les sous-agents de `{ $path }` ne sont pas utilisés : seuls ceux d'un espace de travail de confiance le sont (`--trust`)
notice-subagent-definition = la définition de sous-agent `{ $path }` : { $detail }
notice-hooks-untrusted = les hooks de `{ $path }` n'ont pas été exécutés : seul un espace de travail de confiance peut exécuter des programmes (`--trust`)
notice-hooks-not-run = `{ $path }` contient des hooks que cette version n'exécute pas : { $what }
notice-trust-changed = `{ $path }` a changé depuis que cet espace de travail a été approuvé : ses fichiers ne peuvent rien élargir ni exécuter tant qu’il n’est pas approuvé à nouveau (`ibeam trust show`, `--trust`)
notice-trust-not-kept = ce qui a été approuvé ne compte que pour cette exécution, car `{ $path }` n’a pas pu être écrit : { $detail }
notice-trust-unreadable = `{ $path }` n’approuve aucun espace de travail, car il n’est pas comme il devrait : { $detail }
notice-text-file-ignored = `{ $path }` n'est pas utilisé : { $detail }
notice-texts-cut = trop long, le modèle n'en reçoit qu'une partie : { $files } (`ibeam context` montre les tailles)
notice-rules-lost = `{ $path }` est vide ou absent, alors qu’il contenait des règles d’autorisation lors de la dernière exécution ; elles ne s’appliquent plus
notice-git-objects-hidden = les commandes ne peuvent pas lire les objets de git, donc la plupart des commandes git échouent : ils contiennent `{ $path }`, que les commandes ne doivent pas lire (`--allow '{ $rule }'` les montre)
notice-checkpoint-skipped = les fichiers n'ont pas été enregistrés avant la première modification ; ce tour ne peut donc pas être annulé : { $detail }
notice-checkpoint-incomplete = { $count ->
        [one] le point de contrôle ne contient pas `{ $path }`, qui est trop grand ou illisible
       *[other] le point de contrôle ne contient pas { $count } fichiers trop grands ou illisibles, comme `{ $path }`
    }
notice-worktree-used = cette exécution travaille dans le worktree git `{ $path }`, sur la branche `{ $branch }`
notice-worktree-setup-untrusted = les commandes de préparation de `{ $path }` n'ont pas été exécutées : seul un espace de travail de confiance peut exécuter des programmes (`--trust`)
notice-mcp-tools-changed = des outils du serveur MCP `{ $server }` ne sont pas ceux qui ont été approuvés et ne seront pas appelés : { $tools } (`--approve-mcps` les approuve)
notice-mcp-tools-left-out = des outils du serveur MCP `{ $server }` ne sont pas proposés, car le serveur les décrit mal : { $tools }
notice-background-awaited = { $count ->
        [one] attente de la fin de { $count } commande en arrière-plan
       *[other] attente de la fin de { $count } commandes en arrière-plan
    }
notice-network-denied = une commande a échoué, sans doute parce que les commandes n’ont pas de réseau ici ; `--allow-net example.com:443` leur permet d’atteindre un hôte (remplacez l’exemple par l’hôte nécessaire)
notice-write-denied = une commande a échoué, sans doute parce que les commandes n’écrivent ici que dans l’espace de travail, et pas dans les fichiers protégés ; `--add-dir { $example }` (remplacez l’exemple par le répertoire nécessaire) ou le réglage `sandbox.writable` permet d’écrire dans un répertoire, et `--allow 'Write(.git/config)'` dans un fichier protégé
notice-socket-denied = une commande a échoué, sans doute parce que les commandes n’atteignent ici aucun service de cette machine ; `--allow-socket /var/run/docker.sock` leur permet de se connecter à un socket (remplacez l’exemple par le socket nécessaire)
notice-home-workspace = l’espace de travail `{ $path }` contient votre dossier personnel : les noms protégés que les commandes créent dans ses sous-répertoires ne sont pas recherchés, et aucun point de contrôle n’est enregistré (`session.cover_home = true` change les deux ; un espace de travail distinct est plus sûr)
notice-protected-paths-restored = des commandes ont modifié des chemins protégés, ce qui a été annulé : { $paths } (ce qu’elles ont créé est en quarantaine : `ibeam quarantine list`)
notice-protected-paths-appeared = des chemins protégés sont apparus pendant une commande, sans que le bac à sable ait vu une commande les créer : { $paths } (ils sont restés tels quels ; vérifiez ce que vous n’avez pas créé vous-même)
notice-background-ended = la commande d'arrière-plan `{ $command }` s'est terminée avec le code de sortie { $exit_code }
notice-background-stopped = { $count ->
        [one] { $count } commande en arrière-plan tournait encore et a été arrêtée
       *[other] { $count } commandes en arrière-plan tournaient encore et ont été arrêtées
    }
compacted = la conversation a été raccourcie, d’environ { $before } à { $after } tokens
retrying = { $message } (tentative { $attempt }) ; nouvel essai dans { $seconds } s
retrying-at-once = { $message } (tentative { $attempt }) ; nouvel essai immédiat

## `check`
check-valid = `{ $file }` respecte le contrat { $contract } (événements : { $events }, avertissements : { $warnings })
check-invalid = `{ $file }` ne respecte pas le contrat { $contract } (événements : { $events }, erreurs : { $errors }, avertissements : { $warnings })
check-more-findings = autres constats, non affichés : { $count }
convert-lossy = tout `{ $file }` ne peut pas être dit en { $to } ; perdu : { $count }
convert-dropped = omis : { $key } (fois : { $count }, d’abord à la ligne { $line })
convert-changed = changé : { $key } (fois : { $count }, d’abord à la ligne { $line })
convert-joined = réuni : { $key } (fois : { $count }, d’abord à la ligne { $line })
convert-more-losses = autres pertes, non affichées : { $count }

## `shim`
shim-created = `{ $link }` créé ; il lance `{ $program }`
shim-unchanged = `{ $link }` y était déjà
shim-in-path = `{ $directory }` est dans PATH
shim-not-in-path = `{ $directory }` n'est pas dans PATH ; les clients le trouvent après `{ $command }`
shim-shadowed = dans PATH, `{ $name }` est `{ $other }`, qui précède `{ $directory }`

## `sessions check`
session-intact = session `{ $session }` : intacte
session-incomplete = session `{ $session }` : incomplète
session-damaged = session `{ $session }` : endommagée
session-repaired = session `{ $session }` : réparée
session-unrecoverable = session `{ $session }` : rien n'a pu être conservé
session-events = événements : { $count }
session-files = fichiers : { $count } ({ $bytes } octets)
session-payloads = grands contenus : { $count } ({ $bytes } octets)
session-unreferenced-payloads = contenus qu'aucun enregistrement ne nomme : { $count } (sans gravité)
session-truncated-record = dernier enregistrement incomplet : { $bytes ->
        [one] un octet
       *[other] { $bytes } octets
    } (la prochaine exécution le met de côté)
session-gaps = événements manquants, répétés ou déplacés : { $count ->
        [one] un endroit
       *[other] { $count } endroits
    } (enregistrements qui ne tenaient pas sur un disque plein, ou journal modifié)
session-open-calls = appels sans résultat : { $count } (la prochaine exécution le dit au modèle)
session-damage = premier dommage : `{ $file }`, ligne { $line } : { $detail }
session-moved-aside = mis de côté : `{ $path }`
session-title = session `{ $session }` : { $title }
session-directory = répertoire : { $path }
session-times = créée : { $created }, dernière utilisation : { $updated }
session-stored = taille : { $size }
session-runs = exécutions : { $count }, requêtes au modèle : { $requests }, appels : { $calls }
session-tokens = tokens lus : { $read }, écrits : { $written }
session-cost = coût : { $cost } $
session-no-price = coût : inconnu, car aucun prix n’est connu pour { $models } ; `models.NAME.prices` dans la configuration en fixe un
session-changed-files = fichiers modifiés : { $count }
session-confirm-removal = sessions à supprimer : { $count }. Les supprimer ? [y/N]
session-removed = supprimée : { $session }
session-in-use = non supprimée, car { $holder } l’utilise : { $session }
session-nothing-to-remove = il n’y a rien à supprimer
session-none-here = aucune session de ce répertoire n’est enregistrée ; `--all` liste celles des autres répertoires, `ibeam "PROMPT"` en commence une
session-none = aucune session n’est enregistrée ; `ibeam "PROMPT"` en commence une
session-no-match-here = aucune session de ce répertoire ne contient `{ $words }` ; `--all` cherche dans celles des autres répertoires
session-no-match = aucune session ne contient `{ $words }`
session-renamed = renommée : { $session } → { $title }
session-exported = exportée : { $session } → { $path }
session-checkpoints-left = les points de contrôle de `{ $path }` n’ont pas été supprimés : { $detail }
session-imported = importée : { $session } (événements : { $count })
undo-restores = restaurer : { $path }
undo-removes = supprimer : { $path }
undo-keeps = laisser tel quel : { $path } (il était ignoré ou trop grand pour être enregistré)
undo-changed-since = a changé depuis : `{ $path }`
undo-overwritten = écrasé : `{ $path }` ; `git --git-dir={ $directory } show { $commit }:{ $path }` affiche ce qu'il y avait
undo-unchanged = les fichiers sont déjà dans cet état
undo-done = { $count ->
        [one] { $count } fichier ; pour revenir en arrière : { $command }
       *[other] { $count } fichiers ; pour revenir en arrière : { $command }
    }
undo-redone = { $count ->
        [one] { $count } fichier ; l'annulation est levée
       *[other] { $count } fichiers ; l'annulation est levée
    }

## `replay`
replay-no-end = l'exécution { $run } n'a pas de fin enregistrée : elle a été tuée ou continue
replay-failed = l'exécution { $run } a échoué : { $message }
replay-truncated-record = le dernier enregistrement est incomplet ; { $bytes ->
        [one] un octet a été omis
       *[other] { $bytes } octets ont été omis
    }
replay-gaps = événements manquants, répétés ou déplacés : { $count ->
        [one] un endroit
       *[other] { $count } endroits
    } (enregistrements qui ne tenaient pas sur un disque plein, ou journal modifié)

compare-session = identifiant de session
compare-model = modèle
compare-runs = exécutions
compare-last-run = dernière exécution
compare-duration = durée
compare-requests = requêtes au modèle
compare-calls = appels
compare-failed-calls = appels en échec ou refusés
compare-tokens-read = tokens lus
compare-tokens-cached = tokens du cache
compare-tokens-written = tokens écrits
compare-cost = coût
compare-changed-files = fichiers modifiés
compare-completed = terminée
compare-failed = en échec
compare-refused = refusé
compare-incomplete = sans fin
compare-equal = { $count ->
        [one] { $count } entrée identique
       *[other] { $count } entrées identiques
    }

## `html`
page-prompt = Consigne
page-withheld-prompt = Consigne, non transmise au modèle
page-answer = Réponse
page-arguments = Arguments
page-result = Résultat
page-no-result = sans résultat
page-completed = Terminé en { $seconds } s
page-failed = Échec : { $message }
page-failed-run = échoué
page-changed-files = Fichiers modifiés
page-run = Exécution
page-request = Requête au modèle
page-request-count = { $count ->
        [one] requête au modèle
       *[other] requêtes au modèle
    }
page-call-count = { $count ->
        [one] appel
       *[other] appels
    }
page-failed-calls = { $count ->
        [one] en échec ou refusé
       *[other] en échec ou refusés
    }
page-tokens-read = { $count ->
        [one] token lu
       *[other] tokens lus
    }
page-tokens-cached = en cache
page-tokens-written = { $count ->
        [one] écrit
       *[other] écrits
    }
page-time-line = Chronologie
page-model-time = attente du modèle :
page-tool-time = appels :
page-contents = Sommaire
page-search = Rechercher
page-previous-match = Occurrence précédente
page-next-match = Occurrence suivante
page-theme = Clair ou sombre
page-keys = Touches
page-key-row = entrée suivante, entrée précédente
page-key-prompt = consigne suivante, consigne précédente
page-key-open = ouvrir ou fermer l’appel
page-key-match = occurrence suivante, occurrence précédente
page-skip-to-rows = Aller à la session
page-close = Fermer
page-needs-script = Cette session est trop longue pour être affichée sans JavaScript.
trace-not-written = impossible d’écrire la trace dans `{ $path }` : { $detail }
trace-not-sent = impossible d’envoyer la trace à `{ $url }` : { $detail }
trace-invalid-setting = aucune trace n’est envoyée : { $detail }
progress-start = démarrage
progress-model = en attente du modèle
progress-thinking = le modèle réfléchit
progress-text = le modèle écrit
progress-retry = en attente avant de répéter une requête échouée
progress-call = en attente de { $tool } : { $target }
progress-calls = { $count ->
        [one] en attente d’un autre appel et de { $tool } : { $target }
       *[other] en attente de { $count } autres appels et de { $tool } : { $target }
    }
progress-background = en attente des commandes en arrière-plan
progress-end = fin de l’exécution
progress-status = { $activity } ({ $time } s)
progress-status-with-tokens = { $activity } ({ $time } s, { $tokens } tokens)
run-unfinished = la réponse jusqu'ici
run-changed-files = fichiers modifiés
run-changed-files-without-commands = fichiers modifiés, sans ceux que les commandes ont modifiés (`ibeam diff` les montre tous)
run-no-changed-files = 0 fichier modifié
run-no-files-changed-by-file-tools = 0 fichier modifié par les outils de fichiers ; ce que les commandes et les outils MCP ont modifié n'est pas compté
run-requests = requêtes au modèle : { $requests }, appels : { $calls }, durée : { $seconds } s
run-tokens = tokens lus : { $read } (en cache : { $cached }), écrits : { $written }
run-cost = coût : { $cost } $

ask-allow = autoriser `{ $what }` ?
ask-allow-this = autoriser ceci ?
ask-no-rule = question posée car aucune règle ne le couvre
ask-outside = question posée car l’appel sort de l’espace de travail
ask-publishing = question posée car l’appel publie ou modifie quelque chose sur un service, ce que `ibeam undo` n’annule pas
ask-rule = question posée par la règle `{ $rule }`
ask-hook = question posée par le hook `{ $hook }` : { $detail }

## `policy`
policy-allowed = permis par `{ $rule }`
policy-denied = refusé par `{ $rule }` : { $reason }
policy-needs-approval = demandé à une personne à cause de `{ $rule }` : { $reason }
policy-unanalyzable = la commande est illisible, car elle contient { $what }
policy-runs-program = exécute `{ $program }` par l'intermédiaire de `{ $wrappers }`
policy-reads-file = lit `{ $path }`
policy-writes-file = écrit `{ $path }`
policy-rule-applies = `{ $rule }` s'applique : { $why }
policy-rule-does-not-apply = `{ $rule }` ne s'applique pas : { $why }
policy-no-rules = aucune règle n'est définie ; `ibeam help configuration` dit comment en écrire une
policy-path-rule-limits = les règles `Read` et `Write` couvrent les fichiers par leur chemin ; `ibeam help security` en précise la limite pour les commandes

## Sub-commands
command-logged-in = Connecté à { $provider } : la clé est enregistrée dans { $path }
command-stream-on-terminal = ceci est le flux pour les programmes ; `--output-format text` affiche du texte, et `ibeam` sans `-p` ouvre une conversation
command-provider-question = fournisseur (`ibeam models --providers` en donne la liste) [{ $provider }] :
command-key-question = clé pour { $provider } :
command-key-accepted = { $provider } a accepté la clé
command-key-unverifiable = La clé n'a pas été vérifiée : { $provider } répond aussi sans clé
command-key-unchecked = La clé n'a pas été vérifiée : { $message }
command-key-deleted = la clé enregistrée pour { $provider } a été supprimée
command-logout-question = quelle clé enregistrée supprimer ? ({ $providers } ; une ligne vide n'en supprime aucune) :
command-key-overridden = `{ $source }` est définie et a priorité sur la clé enregistrée ; retirez-la pour utiliser la clé enregistrée
command-key-remains = `{ $source }` est toujours définie : `{ $provider }` a une clé sans clé enregistrée
command-logged-out = { $count ->
        [0] aucune clé enregistrée à supprimer
        [one] { $count } clé enregistrée a été supprimée
       *[other] { $count } clés enregistrées ont été supprimées
    }
command-trust-removed = n'est plus approuvé : { $path }
command-not-trusted = rien à oublier : `{ $path }` n'est pas approuvé
command-no-trusted-workspaces = rien n'est approuvé ; `--trust` approuve un espace de travail
command-approved-tools = { $count ->
        [one] approuvé le { $since }, { $count } outil
       *[other] approuvé le { $since }, { $count } outils
    }
command-no-servers = aucun serveur MCP n'est configuré ; `ibeam help mcp` explique comment en ajouter un
command-quarantine-empty = la quarantaine est vide
command-quarantine-restored = restauré : `{ $path }`
command-no-worktrees = ibeam n’a créé aucun worktree pour ce dépôt ; `--worktree=NOM` en crée un
command-worktree-unchanged = aucune modification
command-worktree-changes = fichiers non validés : { $uncommitted }, commits non fusionnés : { $unmerged }
command-worktree-unreadable = modifications inconnues : { $detail }
command-worktree-removed = supprimé : `{ $path }` ; la branche `{ $branch }` reste
command-detached-worktree-removed = supprimé : `{ $path }`
command-no-hooks = aucun hook n'est configuré ; `ibeam help hooks` explique comment en ajouter un
command-report-written = `{ $path }` a été écrit ; il contient des parties de prompts et de fichiers : lisez-le avant de le publier
command-report-of-machine-written = `{ $path }` a été écrit ; il contient des noms de fichiers et des réglages de cette machine, mais aucune demande

## `fleet`
fleet-started = { $task } : démarrée
fleet-finished = { $task } : { $outcome } ({ $seconds } s)
fleet-retried = { $task } : sera exécutée à nouveau dans { $seconds } s
fleet-stopped = { $task } : { $state } : { $reason }
fleet-refused = { $task } : laissée à d'autres workers : { $reason }
fleet-waiting = { $task } : attend un lot
fleet-restored = { $task } : reprend là où une autre machine l'a laissée
fleet-not-restored = { $task } : l'instantané d'une autre machine est inutilisable : { $detail }
fleet-not-stored = { $task } : aucun instantané pour les autres machines : { $detail }
fleet-not-published = { $task } : les événements seront publiés plus tard : { $detail }
fleet-not-traced = { $task } : avertissement : la trace ne peut pas être écrite : { $detail }
fleet-submitted = lot { $batch } : { $requests ->
        [one] une requête
       *[other] { $requests } requêtes
    } à { $model }
fleet-answered = les lots ont répondu à { $requests ->
        [one] une requête
       *[other] { $requests } requêtes
    }
fleet-cancelled = le délai est écoulé : le lot { $batch } a été annulé
fleet-polled-again = la prochaine interrogation réessaiera : { $detail }

## `context`
context-bytes = octets
context-tokens = tokens*
context-system = Message système
context-tools = Outils
context-server-tools = Outils des serveurs MCP
context-repository = Contenu du dépôt, qui n'est pas de confiance
context-conversation = Conversation
context-prompt = Message
context-total = total (* estimés, à 3 octets chacun)
context-free = restants dans la fenêtre de contexte
context-window = Fenêtre de contexte de `{ $model }` : { $tokens } tokens
context-servers = Non comptés, car ils ne sont pas démarrés ici (`--start-servers` les démarre) : les outils de { $servers }
context-commands = Commandes pour un message

## `about`, `status`, `doctor`
diagnosis-not-logged-in = Non connecté : aucune clé n'est définie ni enregistrée (`ibeam login PROVIDER`)
diagnosis-logged-in = Connecté à { $provider } (clé : { $source })
diagnosis-model = Modèle : { $model } ({ $id } ; { $origin })
diagnosis-no-model = Modèle : aucun ({ $detail })
diagnosis-about-contract = contrat : { $version }
diagnosis-about-model = modèle : { $model }
diagnosis-about-no-model = modèle : aucun
diagnosis-about-engine = moteur intégré : oui
diagnosis-about-no-engine = moteur intégré : non
diagnosis-about-queues = client de files : oui
diagnosis-about-no-queues = client de files : non
diagnosis-about-platform = plateforme : { $os } { $arch }
diagnosis-about-licence = licence : MIT OR Apache-2.0
diagnosis-ok = bon
diagnosis-missing = absent
diagnosis-wrong = erreur
diagnosis-check-model = modèle
diagnosis-check-key = clé
diagnosis-check-embedded = modèle intégré
diagnosis-check-sessions = les sessions
diagnosis-check-cache = le cache
diagnosis-check-configuration = la configuration
diagnosis-check-sandbox = bac à sable
diagnosis-key-found = { $provider }, depuis { $source }
diagnosis-key-not-needed = inutile : { $model } fonctionne sans clé
diagnosis-key-missing = aucune clé d'API n'est définie ni enregistrée ; `ibeam login PROVIDER` en enregistre une, une variable comme `$ANTHROPIC_API_KEY` en fournit une
diagnosis-embedded-missing = `ibeam setup` le télécharge (1,1 Go)
diagnosis-not-writable = `{ $path }` n'est pas accessible en écriture : rendez-le accessible, ou indiquez un autre répertoire avec `$XDG_DATA_HOME` et `$XDG_CACHE_HOME`
diagnosis-bash-purpose = l'outil shell exécute les commandes avec lui
diagnosis-git-purpose = facultatif ; les commandes du modèle peuvent en avoir besoin
diagnosis-python-purpose = facultatif ; `ibeam setup` télécharge le modèle intégré avec son pip

## `acp`
editor-agent = Agent
editor-agent-about = Travaille à la tâche
editor-plan = Plan
editor-plan-about = Lit seulement et termine par un plan
editor-ask = Questions
editor-ask-about = Lit seulement et répond aux questions
editor-mode = Mode
editor-model = Modèle
editor-effort = Effort
editor-effort-default = Par défaut
editor-effort-none = Aucun
editor-effort-minimal = Minimal
editor-effort-low = Faible
editor-effort-medium = Moyen
editor-effort-high = Élevé
editor-effort-xhigh = Très élevé
editor-effort-max = Maximal
editor-allow-once = Autoriser
editor-allow-always = Toujours autoriser dans cette session
editor-reject-once = Refuser
editor-reject-always = Toujours refuser dans cette session
editor-stored-keys = Clés enregistrées
editor-stored-keys-about = Utilise les clés de `ibeam login`, des variables ou de la configuration
editor-login-about = Demande la clé d’un fournisseur dans un terminal et l’enregistre
editor-read = Lire { $file }
editor-write = Écrire { $file }
editor-edit = Modifier { $file }
editor-delete = Supprimer { $file }
editor-list = Lister { $file }
editor-search = Rechercher `{ $pattern }`
editor-find = Trouver `{ $pattern }`
editor-fetch = Récupérer { $url }
editor-web-search = Rechercher `{ $query }` sur le web
editor-todos = Mettre à jour la liste de tâches
editor-subagent = Sous-agent : { $task }
editor-attached = pièce jointe : { $name }
editor-timed-out = Délai dépassé après { $seconds } s
editor-ended-by = Terminé par { $signal }
editor-exit-code = Code de sortie { $code }

## `--help`
help-usage = Utilisation
help-arguments = Arguments
help-options = Options
help-general = Options générales
help-commands = Commandes

tui-welcome = ibeam · { $model } · { $directory }
tui-welcome-help = /help affiche les commandes et les touches, /model change le modèle
tui-opening = ouverture de la session · { $seconds } s
tui-working = en cours · { $seconds } s
tui-waiting = en attente du modèle · { $seconds } s
tui-thinking = réflexion · { $seconds } s
tui-keys-busy = Échap interrompt · Entrée ajoute à ce tour · Tab met en attente
tui-keys-question = ↑ ↓ ou un numéro, Entrée · Échap interrompt
tui-keys-explain = Entrée envoie · Échap refuse sans message
tui-keys-command = Échap interrompt · Entrée met en attente
tui-keys-idle = \ Entrée nouvelle ligne · / commandes · @ fichiers · ! shell · Maj-Tab mode · Échap Échap messages précédents · Ctrl-R historique · Ctrl-G éditeur
tui-keys-lines = \ en fin de ligne : nouvelle ligne · les lignes collées forment un message · / commandes · ! shell · Ctrl-C termine un tour, Ctrl-D le programme
tui-line-cut = le terminal coupe les lignes à 4 095 octets : mettez le texte long dans un fichier et nommez-le @FICHIER
tui-press-again = appuyez encore sur Ctrl-C pour quitter
tui-press-again-busy = un tour est en cours : Ctrl-D encore une fois l’arrête et quitte le programme
tui-steering = pour ce tour : { $text }
tui-queued = ensuite : { $text }
tui-pasted = { $count } lignes collées
tui-search = recherche dans l’historique : { $text }
tui-search-no-match = aucun résultat dans l’historique : { $text } · Échap rétablit la saisie
tui-hidden-lines = { $count ->
        [one] … une ligne de plus
       *[other] … { $count } lignes de plus
    }
tui-lines = { $count ->
    [one] { $count } ligne
   *[other] { $count } lignes
}
tui-results = { $count ->
    [one] { $count } résultat
   *[other] { $count } résultats
}
tui-calls = { $count ->
    [one] { $count } appel
   *[other] { $count } appels
}
tui-tokens = { $text } tokens
tui-tokens-and-cached = { $text } tokens et { $size } en cache
tui-context-left = contexte restant : { $percent } %
tui-exit-code = code de sortie { $text }
tui-allow-this = Autoriser ceci ?
tui-once = oui, une fois
tui-for-session = oui, jusqu’à la fin du programme
tui-all-edits = oui, et toutes les modifications de fichiers de l’espace de travail jusqu’à la fin du programme
tui-always-here = oui, toujours dans ce projet : ajouter la règle `{ $rule }`
tui-always = oui, toujours et dans tous les projets : ajouter la règle `{ $rule }`
tui-refuse = non
tui-refuse-and-explain = non, et dire pourquoi au modèle
tui-explain = Pourquoi pas ? Entrée l’envoie au modèle, Échap refuse seulement
tui-explain-in-line = Pourquoi pas ? La ligne est envoyée au modèle ; une ligne vide refuse seulement.
tui-allowed-once = autorisé une fois
tui-allowed-for-session = autorisé jusqu’à la fin du programme
tui-allowed-all-edits = toutes les modifications de fichiers de l’espace de travail sont autorisées jusqu’à la fin du programme
tui-rule-added = autorisé ; `{ $rule }` a été ajoutée à `{ $path }`
tui-rule-not-written = autorisé jusqu’à la fin du programme ; impossible d’ajouter la règle à `{ $path }` : { $detail }
tui-refused = refusé
tui-status-session = session : { $id }
tui-status-model = modèle : { $name }
tui-status-mode = mode : { $mode }
tui-status-sandbox = bac à sable : { $state }
tui-unknown-command = commande inconnue `{ $name }` ; `/help` affiche les commandes
tui-unknown-command-near = commande inconnue `{ $name }` ; vouliez-vous dire `{ $nearest }` ?
tui-unknown-choice = inconnu : `{ $name }` ; utilisez l’une de ces valeurs : { $list }
tui-no-argument = `{ $name }` ne prend rien après son nom, donc rien n’a été fait
tui-unknown-model-near = `{ $name }` n’est pas un modèle connu ; vouliez-vous dire `{ $nearest }` ?
tui-unknown-model = `{ $name }` n’est pas dans la table des modèles connus ; `/model` affiche ceux de vos services
tui-interrupted = interrompu
tui-resume-with = Pour continuer cette conversation : { $command }
tui-attached = joint : { $names }
tui-not-attached = introuvable, donc rien n’a été joint : { $names }
tui-plan-question = Et maintenant ?
tui-plan-continue = continuer à planifier
tui-plan-carry-out = réaliser le plan : mode agent
tui-rewind-question = Revenir avant quel message ?
tui-rewind-what = Qu’est-ce qui revient en arrière ?
tui-rewind-both = la conversation et les fichiers
tui-rewind-conversation = seulement la conversation
tui-rewind-files = seulement les fichiers
tui-effort = effort : { $level }
tui-compact-requested = la conversation sera raccourcie avant la prochaine requête au modèle
tui-nothing-to-compact = rien à raccourcir pour l’instant : un résumé ne serait pas plus court que la conversation
tui-compacted = conversation raccourcie : environ { $before } → { $after } tokens
tui-no-skills = aucune compétence
tui-exported = écrit : { $path }
tui-earlier-turns = { $count ->
    [one] … { $count } tour précédent
   *[other] … { $count } tours précédents
}
tui-picker-here = Sessions de ce répertoire
tui-picker-all = Sessions de tous les répertoires
tui-picker-empty = aucune session ici ; Tab affiche celles de tous les répertoires
tui-picker-keys = ↑ ↓ choisir · Entrée reprend · Tab tous les répertoires · tapez pour filtrer · Échap quitte
tui-pick-number = Numéro de la session à reprendre ; une ligne vide n’en reprend aucune :
tui-minutes = { $count } min
tui-hours = { $count } h
tui-days = { $count } j
tui-changes-title = Modifications
tui-transcript-title = Transcription
tui-no-changes = aucun fichier n’a été modifié
tui-nothing-to-undo = rien à annuler : aucun tour de cette session n’a modifié de fichiers
tui-already-undone = toutes les modifications de cette session sont déjà annulées ; `/redo` revient sur la dernière annulation
tui-nothing-to-redo = rien à rétablir : aucune annulation sur laquelle revenir
tui-not-a-turn = `{ $name }` n’est pas le numéro d’un tour
tui-no-transcript = aucune conversation n’est encore enregistrée
tui-view-keys = ↑ ↓ PgPréc PgSuiv Début Fin défilent · / chercher · n N suivant, précédent · q quitte
tui-view-search = chercher : { $text }
tui-view-no-match = introuvable : { $text }
tui-dialog-keys = ↑ ↓ ou un numéro, Entrée · Échap retour · Ctrl-C quitte
tui-dialog-keys-leave = ↑ ↓ ou un numéro, Entrée · Échap, Ctrl-C quittent
tui-dialog-text-keys = Entrée confirme · Échap retour · Ctrl-C quitte
tui-dialog-number = Numéro de votre choix ; une ligne vide revient en arrière :
tui-dialog-number-leaves = Numéro de votre choix ; une ligne vide quitte :
tui-dialog-empty-line = une ligne vide revient en arrière
tui-dialog-leave = quitter
tui-trust-folder = `{ $directory }` a sa propre configuration, qui n'est pas approuvée :
tui-trust-changed = La configuration de `{ $directory }` a changé depuis que vous l'avez approuvée :
tui-trust-hook = hook { $event } : { $command }  ({ $file })
tui-trust-server = serveur MCP { $name } : { $target }  ({ $file })
tui-trust-setting = { $text }  ({ $file })
tui-trust-file = { $file }
tui-trust-agents = sous-agents : { $names }
tui-trust-rules = instructions pour le modèle : { $names }
tui-trust-skills = skills : { $names }
tui-trust-more = … encore { $count } ; `ibeam trust show` affiche tout
tui-trust-meaning = Si vous l'approuvez, ses hooks et serveurs démarrent, ses réglages peuvent autoriser des commandes et ses instructions comptent comme les vôtres. Sinon, rien de cela n'a lieu, et ses instructions sont marquées comme n'étant pas de vous.
tui-trust-question = Faites-vous confiance à ce dossier ?
tui-trust-yes = oui, jusqu'à ce que sa configuration change
tui-trust-no = continuer sans la configuration du dossier
tui-trust-stored = approuvé ; `ibeam trust forget` retire l'approbation
tui-trust-declined = non approuvé : sa configuration est sans effet ; `ibeam --trust` l'approuve plus tard
tui-trust-not-stored = impossible d'enregistrer l'approbation, le dossier n'est donc pas approuvé : { $detail }
tui-first-model = modèle : { $model } ({ $id } ; { $origin }). `/model NOM` ou `--model NOM` le change ; `model = "NOM"` dans `{ $path }` le change de façon permanente
tui-first-rules = Les modifications de fichiers de ce dossier et les commandes dans le bac à sable ne font pas l’objet d’une question. `/undo` annule les modifications, `/diff` les affiche.
tui-without-undo = Ce dossier n’est dans aucun dépôt git : `/undo` et `/diff` n’ont rien à comparer.
tui-setup-question = Aucun modèle ne peut encore répondre. Que voulez-vous utiliser ?
tui-setup-key = clé d'API d'un service
tui-setup-install = petit modèle sur cette machine ({ $size } Go à télécharger)
tui-setup-server = serveur à vous, comme Ollama
tui-setup-provider = Quel service ?
tui-setup-enter-key = Clé d'API de { $provider } (non affichée) :
tui-setup-key-is-word = une clé est un mot sans espaces
tui-setup-checking = demande à { $provider } si la clé est valide
tui-setup-fetching = téléchargement du modèle : { $percent } %, { $done } sur { $total } Go
tui-setup-verifying = vérification du modèle : { $percent } %
tui-setup-installed = le modèle est installé
tui-setup-cancelled = arrêté ; un prochain téléchargement reprendra où celui-ci s'est arrêté
tui-setup-enter-url = Adresse du serveur, par exemple http://127.0.0.1:11434/v1 :
tui-setup-asking = demande à { $url } ses modèles
tui-setup-server-failed = impossible d’utiliser `{ $url }`, saisissez de nouveau l’adresse : { $detail }
tui-setup-model = Quel modèle du serveur ?
tui-setup-enter-model = Le serveur n'indique aucun modèle. Nom du modèle :
tui-setup-server-stored = `{ $model }` est maintenant votre modèle par défaut, voir `{ $path }`
tui-setup-not-stored = impossible d'écrire `{ $path }` : { $detail }
tui-loading-model = chargement du modèle intégré
tui-keys = touches
