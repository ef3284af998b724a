# Bahasa Indonesia. Rujukan: en.ftl.

## Lines of `--output-format text`
action-read = Membaca file
    .failed = Gagal membaca file
    .refused = Tidak diizinkan membaca file
action-edit = Mengedit file
    .failed = Gagal mengedit file
    .refused = Tidak diizinkan mengedit file
action-create = Membuat file baru
    .failed = Gagal menulis file
    .refused = Tidak diizinkan menulis file
action-shell = Menjalankan perintah di terminal
    .failed = Perintah di terminal gagal
    .refused = Tidak diizinkan menjalankan perintah di terminal
action-delete = Menghapus file
    .failed = Gagal menghapus file
    .refused = Tidak diizinkan menghapus file
action-search = Mencari di dalam file
    .failed = Gagal mencari di dalam file
    .refused = Tidak diizinkan mencari di dalam file
action-find = Menemukan file
    .failed = Gagal menemukan file
    .refused = Tidak diizinkan menemukan file
action-list = Menampilkan isi direktori
    .failed = Gagal menampilkan isi direktori
    .refused = Tidak diizinkan menampilkan isi direktori
action-todos = Memperbarui daftar tugas
    .failed = Gagal memperbarui daftar tugas
    .refused = Tidak diizinkan memperbarui daftar tugas
action-fetch = Mengambil halaman web
    .failed = Gagal mengambil halaman web
    .refused = Tidak diizinkan mengambil halaman web
action-mcp = Memanggil alat MCP
    .failed = Alat MCP gagal
    .refused = Tidak diizinkan memanggil alat MCP
action-task = Menjalankan subagen
    .failed = Subagen gagal
    .refused = Tidak diizinkan menjalankan subagen
action-other = Memanggil alat `{ $tool }`
    .failed = Alat `{ $tool }` gagal
    .refused = Tidak diizinkan memanggil alat `{ $tool }`
action-with-detail = { $action }: { $detail }

## Failures: usage
reason-usage = { $detail }
    .hint = `ibeam --help` menampilkan perintah dan opsi
cli-command-usage = { $detail }
    .hint = `{ $command } --help` menampilkan argumen dan opsinya
reason-empty-prompt = prompt kosong
    .hint = berikan sebagai argumen, `ibeam -p "…"`, atau lewat stdin
reason-format-without-print = `--output-format` hanya berlaku saat mencetak
    .hint = tambahkan `--print`, atau hubungkan stdin atau stdout ke pipa
reason-not-text = { $what } bukan teks UTF-8 tanpa karakter NUL
    .hint = ubah dulu ke UTF-8, misalnya dengan `iconv`
reason-input-line = baris { $line } dari stdin bukan pesan yang valid: { $detail }
    .hint = `ibeam schema --format input` menjelaskan baris-baris itu; lanjutkan sesi dengan baris yang tersisa
reason-invalid-json-schema = `{ $path }` bukan JSON Schema yang valid ({ $place }): { $detail }
    .hint = gunakan file JSON Schema 2020-12 yang referensinya tetap di dalam file itu
reason-unsupported = versi ini tidak mendukung { $what }
    .hint = `ibeam --help` menampilkan apa yang bisa dilakukannya

## Failures: keys, models, requests
reason-no-key = tidak ada kunci API untuk `{ $provider }`
    .hint = atur `{ $variable }`, atau jalankan `ibeam login { $provider }`
    .hint-local = { $embedded ->
        [yes] `--model embedded` memakai model bawaan, yang tidak memerlukan kunci
       *[no] `ibeam setup` memasang model kecil yang tidak memerlukan kunci
    }
reason-key-unavailable = `{ $setting }` tidak memberi kunci API untuk `{ $provider }`: { $detail }
    .hint = `ibeam config explain` menunjukkan tempat `{ $setting }` diatur
reason-key-refused = `{ $provider }` menolak kunci API: { $detail }
    .hint = `ibeam login { $provider }` menyimpan kunci lain; `ibeam status` menunjukkan kunci yang dipakai
reason-unknown-provider = tidak ada penyedia bernama `{ $provider }`
    .hint = `ibeam models --providers` menampilkan semua penyedia
reason-unknown-model = model `{ $model }` tidak dikenal oleh penyedia `{ $provider }`
    .hint = `--model` memilih yang lain; `ibeam models` menampilkan yang boleh dipakai kunci Anda
reason-model-without-provider = tidak diketahui penyedia untuk model `{ $model }`
    .hint = sebutkan dengan `--model PROVIDER/NAME`; `ibeam models` menampilkan nama-namanya
reason-model-not-installed = model bawaan `{ $model }` belum dipasang
    .hint = `ibeam setup` mengunduhnya (1,1 GB); proses dengan `--setup` melakukannya lebih dulu
    .hint-provider = untuk memakai penyedia, jalankan `ibeam login PROVIDER`
cli-setup-failed = model bawaan tidak dapat dipasang: { $detail }
    .hint = jalankan `ibeam setup` lagi untuk melanjutkan, atau pilih sumber: `ibeam setup --from registry|hub|FILE`
reason-local-model = model bawaan tidak dapat berjalan: { $detail }
    .hint = `ibeam doctor` menunjukkan apa yang kurang; `ibeam setup` memasang ulang model
reason-no-local-engine = program ini dibangun tanpa model bawaan
    .hint = pilih penyedia dengan `ibeam login PROVIDER`, atau bangun dengan fitur `embedded`
reason-bad-request = `{ $provider }` menolak permintaan: { $detail }
    .hint = model lain mungkin menerimanya: `--model PROVIDER/NAME`
reason-context-too-long = percakapan terlalu panjang untuk model `{ $provider }`: { $detail }
    .hint = mulai sesi baru, atau pilih model dengan konteks lebih besar lewat `--model`

## Failures: provider, network
reason-rate-limited = `{ $provider }` membatasi laju permintaan: { $detail }
    .hint = coba lagi nanti, atau pilih model lain dengan `--model`
reason-provider-failed = `{ $provider }` gagal: { $detail }
    .hint = coba lagi nanti, atau pilih model lain dengan `--model`
reason-answer-truncated = jawaban `{ $provider }` berakhir sebelum lengkap
    .hint = coba lagi; mungkin ada proxy yang memotong jawaban panjang
reason-not-recorded = permintaan ini tidak ada di rekaman; yang paling mirip adalah `{ $recording }`: { $difference }
    .hint = rekam ulang dengan `--record` ke direktori kosong
reason-unreachable = tidak dapat terhubung ke `{ $address }`: { $detail }
    .hint = periksa alamat, jaringan, dan `HTTPS_PROXY`
reason-tls = tidak ada koneksi aman ke `{ $address }`: { $detail }
    .hint = periksa jam dan sertifikat sistem ini
reason-answer-too-slow = jawaban `{ $provider }` belum lengkap setelah { $seconds } dtk
    .hint = minta langkah yang lebih kecil, atau naikkan `timeouts.answer`
reason-stalled = tidak ada yang datang dari `{ $provider }` selama { $seconds } dtk
    .hint = coba lagi nanti, atau pilih model lain dengan `--model`

## Failures: limits
reason-turn-limit = proses mencapai batas { $limit } permintaan ke model
    .hint = naikkan dengan `--max-turns`, atau lanjutkan dengan `--continue`
reason-token-limit = proses telah menghabiskan { $limit } token
    .hint = naikkan `--max-tokens`, atau lanjutkan dengan `--continue`
reason-cost-limit = proses telah menghabiskan anggaran { $limit } USD
    .hint = naikkan `--max-cost`, atau lanjutkan dengan `--continue`
reason-tool-call-limit = proses telah menghabiskan { $limit } panggilan alat
    .hint = naikkan `--max-tool-calls`, atau lanjutkan dengan `--continue`
reason-loop-guard = model memanggil `{ $tool }` { $count } kali dengan argumen dan hasil yang sama
    .hint = rumuskan tugasnya secara lain, atau pilih model lain dengan `--model`
reason-empty-answer = model tidak memberi teks maupun panggilan alat, bahkan setelah ditanya lagi
    .hint = rumuskan tugasnya secara lain, atau pilih model lain dengan `--model`
reason-output-limit = batas keluaran berulang kali memotong jawaban model
    .hint = minta langkah yang lebih kecil, atau pilih model lain dengan `--model`
reason-answer-paused = layanan menjeda jawaban { $count } kali berturut-turut dan tidak pernah menyelesaikannya
    .hint = rumuskan tugasnya secara lain, atau pilih model lain dengan `--model`
reason-invalid-arguments = argumen panggilan `{ $tool }` bukan JSON yang valid dalam { $count } jawaban berturut-turut
    .hint = minta langkah yang lebih kecil, atau pilih model lain dengan `--model`
reason-refused-with-message = model menolak menjawab: { $message }
    .hint = rumuskan tugasnya secara lain, atau pilih model lain dengan `--model`
reason-refused = model menolak menjawab
    .hint = rumuskan tugasnya secara lain, atau pilih model lain dengan `--model`
reason-prompt-refused = hook `{ $hook }` menolak prompt: { $detail }
    .hint = rumuskan prompt secara lain; docs/hooks.md mencantumkan berkas yang mengatur hook
reason-timed-out = proses berlangsung lebih dari { $seconds } dtk
    .hint = naikkan `--timeout`, atau lanjutkan dengan `--continue`
reason-denied = { $count } panggilan alat ditolak
    .hint = peringatan menyebutkan alasannya; `ibeam policy test` menjelaskan setiap keputusan
reason-tool-errors = { $count } panggilan alat gagal
    .hint = `--output-format stream-json` menampilkan setiap panggilan beserta hasilnya
reason-background-stopped = { $count } perintah masih berjalan di latar belakang pada akhirnya dan dihentikan
    .hint = hilangkan `--fail-on background`, atau tunggu sampai selesai dengan `--background wait`
reason-no-text = proses tidak menghasilkan teks, hanya panggilan alat
    .hint = hilangkan `--fail-on empty` agar itu dianggap berhasil
reason-answer-mismatch = jawaban tidak sesuai dengan JSON Schema setelah { $repairs } kali koreksi: { $detail }
    .hint = gunakan skema yang lebih sederhana, sebutkan bentuk yang diminta di prompt, atau gunakan model lain

## Failures: sessions, files, system
reason-session-damaged = sesi `{ $session }` rusak di baris { $line }: { $detail }
    .hint = `ibeam sessions check { $session } --repair` mempertahankan yang utuh dan menyisihkan sisanya
    .hint-others = `ibeam ls` menampilkan sesi lainnya
reason-unknown-session = tidak ada sesi `{ $session }`
    .hint = `ibeam ls` menampilkan semua sesi
cli-unknown-run = `{ $source }` tidak memiliki run { $run }; jumlahnya { $runs }
    .hint = tanpa `--run` semuanya ditampilkan
cli-nothing-to-undo = sesi `{ $session }` tidak punya perubahan untuk dibatalkan
    .hint = titik pemeriksaan ada di repositori git, untuk giliran dengan alat yang dapat mengubah file; `ibeam diff` menampilkan perubahan sesi
cli-unknown-turn = sesi `{ $session }` tidak punya giliran { $turn }; jumlahnya { $turns }
    .hint = `ibeam replay SESSION` menampilkan giliran
cli-no-repository = ruang kerja `{ $path }` tidak berada di repositori git milik pengguna ini
    .hint = titik pemeriksaan memerlukan git; untuk ruang kerja lain gunakan `--workspace DIR`
cli-files-changed-since = { $count } file telah diubah pihak lain sejak itu, seperti `{ $path }`; tidak ada yang dipulihkan
    .hint = `--force` menimpanya; `ibeam undo --redo` kemudian mengembalikannya
cli-checkpoint-failed = titik pemeriksaan tidak dapat digunakan: { $detail }
    .hint = `ibeam doctor` memeriksa instalasi; titik pemeriksaan adalah commit di bawah `refs/ibeam/`
cli-stream-damaged = `{ $source }` bukan stream yang valid (baris { $line }: { $detail })
    .hint = pastikan berkasnya benar dan lengkap; `ibeam check FILE` menampilkan kesalahan dalam stream ibeam
reason-retold = { $detail }
    .hint = baris terakhir stream menyebutkan jenis dan kode keluarnya
reason-no-session-to-continue = tidak ada sesi untuk dilanjutkan di `{ $cwd }`
    .hint = hilangkan `--continue` untuk memulai sesi; `ibeam ls` menampilkan semua sesi
    .hint-all = `ibeam ls --all` menampilkan sesi dari semua direktori
reason-session-elsewhere = sesi `{ $session }` milik ruang kerja `{ $cwd }`
    .hint = lanjutkan di sana, atau dengan `--workspace`
reason-no-plan = tidak ada run dari sesi `{ $session }` yang berakhir dengan rencana
    .hint = buat dahulu: `ibeam -p --mode plan "TUGAS"`, lalu `--from-plan` dengan id sesinya
reason-session-busy = sesi `{ $session }` sedang dipakai oleh `{ $holder }`
    .hint = tunggu sampai selesai, atau lanjutkan di sesi baru dengan riwayat yang sama: `--fork`
reason-session-leased = sesi `{ $session }` dipegang oleh `{ $holder }`, dengan berkas penanda `{ $path }`
    .hint = jika proses itu sudah tidak berjalan, hapus berkas tersebut; atau lanjutkan dalam sesi baru dengan riwayat yang sama: `--fork`
reason-session-removed = sesi proses ini dihapus saat sedang bekerja: `{ $path }` tidak ada lagi
    .hint = perubahan di ruang kerja tetap ada; `--ephemeral` menjalankan tanpa sesi
reason-input-too-large = prompt di { $what } lebih panjang dari { $megabytes } MiB
    .hint = sebutkan di prompt nama file yang harus dibaca
reason-stdin-silent = stdin tidak mengirim apa pun dan tidak berakhir dalam { $seconds } dtk
    .hint = berikan prompt sebagai argumen dan tutup stdin dengan `</dev/null`
reason-workspace-gone = ruang kerja `{ $path }` dihapus saat proses bekerja di dalamnya
    .hint-resume = sesi disimpan; lanjutkan dengan `--resume` di direktori lain
reason-no-input = tidak dapat membaca `{ $path }`: { $detail }
    .hint = periksa jalur dan izinnya
reason-cannot-create = tidak dapat membuat `{ $path }`: { $detail }
    .hint = periksa izin direktorinya dan ruang kosong
cli-name-taken = `{ $path }` sudah ada dan bukan tautan program ini; tidak ada yang diubah
    .hint = pindahkan, atau pilih direktori lain dan letakkan sebelum yang ini di PATH
reason-io = gagal membaca atau menulis pada { $what }: { $detail }
    .hint = periksa ruang kosong dan izin
reason-output-closed = pembaca stdout sudah pergi
    .hint = yang sudah dicatat sesi tetap tersimpan; `--continue` melanjutkannya
reason-system = sistem menolak { $what }: { $detail }
    .hint = `ulimit -a` menampilkan batas proses dan file terbuka
reason-no-sandbox = sandbox untuk perintah tidak tersedia: { $detail }
    .hint = `--sandbox disabled` berjalan tanpanya; perintah lalu hanya berjalan bila ada aturan yang mengizinkan (`--allow`, `--force`)
    .hint-doctor = `ibeam doctor --sandbox` memberi tahu apa yang ditolak sistem ini
reason-untrusted = `{ $what }` ada di { $path }, dan ruang kerja ini tidak dipercaya
    .hint = periksa berkasnya, lalu berikan `--trust`
reason-bad-config = konfigurasi di `{ $place }` salah: { $detail }
    .hint = `ibeam config explain` menunjukkan file atau variabel yang menetapkan setiap nilai
reason-unreadable-config = tidak dapat membaca konfigurasi `{ $path }`: { $detail }
    .hint = periksa siapa yang boleh membacanya; `ibeam config path` menampilkan file konfigurasi
reason-mcp-server-failed = server MCP `{ $server }` diperlukan tetapi tidak ada: { $detail }
    .hint = `ibeam mcp list` menunjukkan file yang menyebutnya; `required = false` membuat proses berlanjut tanpanya
reason-signalled = dihentikan oleh `{ $signal }`
    .hint-resume = sesi disimpan; lanjutkan dengan `--continue`
reason-internal = kesalahan internal: { $detail }
    .hint = ini bug ibeam; `ibeam about` mencetak yang diperlukan untuk laporan
failure-retry-after = { $message }; dapat dicoba lagi dalam { $time }
failure-near-name = mungkin maksud Anda `{ $near }`?
failure-request-id = ID permintaan yang gagal itu di penyedia adalah `{ $id }`

## Tabel kegagalan
code-failed = jawaban tidak sesuai dengan skema --json-schema, bahkan setelah dikoreksi
code-usage = opsi, permintaan kosong, format tanpa mode cetak, atau baris --input-format stream-json yang tidak valid
code-denied = hook menolak prompt; atau panggilan ditolak atau gagal, tidak ada teks, atau masih ada yang berjalan, dan --fail-on menjadikannya kegagalan
code-auth = tidak ada kunci, atau penyedia menolaknya
code-model = model tidak dikenal, atau model tertanam belum dipasang
code-request = penyedia menolak permintaan
code-context = percakapan terlalu panjang untuk model, bahkan setelah diringkas
code-rate-limited = terlalu banyak permintaan, setelah percobaan ulang
code-provider = penyedia gagal, setelah percobaan ulang
code-network = tidak ada koneksi, atau terputus
code-tls = tidak ada koneksi aman
code-stalled = tidak ada yang datang terlalu lama
code-limit = batas proses: permintaan, token, biaya, panggilan alat, atau panggilan yang sama berulang-ulang
code-empty = model tidak memberi teks atau panggilan, bahkan setelah diminta lagi
code-refused = model menolak
code-timeout = proses lebih lama dari --timeout
code-sandbox = sandbox diminta dan tidak tersedia
code-untrusted = yang diminta memerlukan ruang kerja tepercaya
code-too-large = prompt di stdin terlalu panjang atau tidak berakhir
code-data = sesi rusak
code-noinput = sesi atau file tidak dikenal, ruang kerja hilang, atau stdin tidak berakhir
code-internal = bug di ibeam
code-os = sistem menolak proses, thread, atau file
code-cantcreat = direktori atau file tidak dapat dibuat
code-io = disk penuh, atau pembaca stdout pergi
code-busy = proses lain memegang sesi
code-config = konfigurasi salah
code-signal = sinyal meminta berhenti

## Warnings
notice-embedded-model = dijawab oleh model bawaan kecil `{ $model }`; pilih yang lain dengan `--model` atau `ibeam login PROVIDER`
notice-embedded-model-with-key = { $message }; { $detail }
notice-effort-ignored = `--effort` dan `--thinking-budget` tidak berpengaruh: model `{ $model }` tidak memiliki pengaturan penalaran
unused-key = `{ $variable }` sudah diatur, tetapi versi ini belum dapat memakai kunci { $service } secara langsung: pakai modelnya lewat OpenRouter (`ibeam login openrouter`), atau, jika layanan itu memiliki API Chat Completions, atur `base_url` dan `key_variable` di `[providers.NAME]`
notice-stdin-ignored = stdin tidak mengirim apa pun dalam { $seconds } dtk dan diabaikan; `--stdin ignore` melewati penantian
notice-arguments-ignored = argumen `{ $dialect }` ini tidak ada padanannya di ibeam dan diabaikan: { $arguments }
notice-session-gaps = di { $count } tempat, jurnal sesi ini kehilangan, mengulang atau memindahkan peristiwa: percakapan mungkin tidak lengkap; `ibeam sessions check` melaporkannya
notice-session-lease-file = sistem berkas sesi ini tidak dapat mengunci berkas; `{ $path }` melindungi sesi dari penulis kedua selama proses ini berjalan
notice-session-unsynced = run tidak lagi menunggu disk; sesi yang dilanjutkan mungkin kehilangan catatan terakhirnya
notice-calls-denied = { $count } panggilan alat ditolak
notice-unknown-stop-reason = penyedia mengakhiri jawabannya dengan alasan tak dikenal `{ $word }`; jawaban dianggap lengkap
notice-answer-cut = batas keluaran memotong jawaban; model diminta melanjutkan
notice-answer-interrupted = { $message }; model diminta melanjutkan jawabannya dari sana
notice-websocket-unavailable = `{ $provider }` tidak dapat dipakai lewat WebSocket ({ $detail }); permintaan dikirim lewat HTTP
notice-model-fallback = `{ $from }` tidak tersedia ({ $message }); `{ $to }` menggantikannya
notice-fallback-unusable = `{ $model }` tidak dapat dipakai sebagai model cadangan: { $message }
notice-answer-paused = layanan menjeda jawaban; jawaban dikirim kembali untuk diselesaikan
notice-empty-answer = jawaban kosong; model ditanya lagi
notice-answer-mismatch = jawaban tidak sesuai dengan JSON Schema; model diminta memperbaikinya (koreksi { $attempt }): { $detail }
notice-repeated-call = model sudah memanggil `{ $tool }` { $count } kali dengan argumen dan hasil yang sama
notice-turns-near = { $percent } % permintaan model dari proses ini telah terpakai; model diminta menyelesaikan
notice-tokens-near = { $percent } % token dari proses ini telah terpakai; model diminta menyelesaikan
notice-cost-near = { $percent } % anggaran proses ini telah terpakai; model diminta menyelesaikan
notice-calls-near = { $percent } % panggilan alat dari proses ini telah terpakai; model diminta menyelesaikan
notice-time-near = { $percent } % waktu proses ini telah terpakai; model diminta menyelesaikan
notice-unknown-config-key = `{ $key }` di `{ $path }` bukan setelan yang dikenal dan diabaikan
notice-untrusted-config-key = `{ $key }` di `{ $path }` diabaikan: hanya ruang kerja tepercaya yang boleh menetapkannya (`--trust`)
notice-forbidden-config-key = `{ $key }` di `{ $path }` diabaikan: proyek tidak boleh menetapkan nilai ini; konfigurasi pengguna boleh
notice-mcp-server-failed = server MCP `{ $server }` tidak ada: { $detail }
notice-mcp-server-untrusted = server MCP `{ $server }` dari `{ $path }` tidak dijalankan: hanya ruang kerja tepercaya yang boleh menjalankan program (`--approve-mcps` atau `--trust`)
notice-mcp-server-unsupported = server MCP `{ $server }` memakai transport lama `sse`, yang tidak didukung; atur URL-nya untuk streamable HTTP
notice-hook-failed = hook `{ $hook }` ({ $event }) gagal dan proses dilanjutkan tanpanya: { $detail }
notice-subagents-untrusted = subagen dari `{ $path }` tidak dipakai: hanya subagen dari ruang kerja tepercaya yang dipakai (`--trust`)
notice-subagent-definition = definisi subagen `{ $path }`: { $detail }
notice-hooks-untrusted = hook dari `{ $path }` tidak dijalankan: hanya ruang kerja tepercaya yang boleh menjalankan program (`--trust`)
notice-hooks-not-run = `{ $path }` memuat hook yang tidak dijalankan versi ini: { $what }
notice-trust-changed = `{ $path }` telah berubah sejak ruang kerja ini dipercaya: berkasnya tidak dapat memperluas atau menjalankan apa pun sampai dipercaya lagi (`ibeam trust show`, `--trust`)
notice-trust-not-kept = yang dipercaya atau disetujui hanya berlaku untuk kali ini, karena `{ $path }` tidak dapat ditulis: { $detail }
notice-trust-unreadable = `{ $path }` tidak memercayai ruang kerja mana pun, karena isinya tidak semestinya: { $detail }
notice-text-file-ignored = `{ $path }` tidak dipakai: { $detail }
notice-texts-cut = terlalu panjang, sehingga model hanya menerima sebagian: { $files } (`ibeam context` menampilkan ukurannya)
notice-rules-lost = `{ $path }` kosong atau tidak ada, padahal pada eksekusi terakhir berisi aturan izin; aturan itu sekarang tidak berlaku
notice-git-objects-hidden = perintah tidak dapat membaca objek git, sehingga sebagian besar perintah git gagal: git melacak `{ $path }`, yang dilarang dibaca oleh sebuah aturan (`--allow '{ $rule }'` menampilkannya)
notice-checkpoint-skipped = file tidak disimpan sebelum perubahan pertama, jadi giliran ini tidak dapat dibatalkan: { $detail }
notice-checkpoint-incomplete = titik pemeriksaan tidak memuat { $count } file yang terlalu besar atau tidak dapat dibaca, seperti `{ $path }`
notice-worktree-used = proses ini bekerja di worktree git `{ $path }`, pada cabang `{ $branch }`
notice-mcp-tools-changed = alat dari server MCP `{ $server }` bukan yang disetujui dan tidak akan dipanggil: { $tools } (`--approve-mcps` menyetujuinya)
notice-background-awaited = menunggu { $count } perintah latar belakang selesai
notice-network-denied = sebuah perintah gagal, mungkin karena perintah tidak memiliki akses jaringan di sini; `--allow-net example.com:443` mengizinkannya menghubungi satu host (ganti contoh itu dengan host yang diperlukan)
notice-background-stopped = { $count } perintah latar belakang masih berjalan dan dihentikan
no-file-changed = tidak ada berkas yang diubah
no-file-changed-by-tools = tidak ada berkas yang diubah dengan alat berkas; perubahan oleh perintah dan alat MCP tidak dihitung
compacted = percakapan menjadi terlalu panjang dan diringkas, dari sekitar { $before } menjadi { $after } token
retrying = { $message } (percobaan { $attempt }); mencoba lagi dalam { $seconds } dtk

## `check`
check-keeps = `{ $file }` memenuhi kontrak { $contract } (peristiwa: { $events }, peringatan: { $warnings })
check-breaks = `{ $file }` melanggar kontrak { $contract } (peristiwa: { $events }, kesalahan: { $errors }, peringatan: { $warnings })
check-more = temuan lain, tidak ditampilkan: { $count }
convert-lossy = tidak semua isi `{ $file }` dapat dinyatakan dalam { $to }; hilang: { $count }
convert-dropped = dihilangkan: { $key } (kali: { $count }, pertama di baris { $line })
convert-changed = diubah: { $key } (kali: { $count }, pertama di baris { $line })
convert-joined = digabung: { $key } (kali: { $count }, pertama di baris { $line })
convert-more = kehilangan lain, tidak ditampilkan: { $count }

## `shim`
shim-made = membuat `{ $link }`, yang menjalankan `{ $program }`
shim-kept = `{ $link }` sudah ada
shim-in-path = `{ $directory }` ada di PATH
shim-not-in-path = `{ $directory }` tidak ada di PATH; klien menemukannya setelah `{ $command }`
shim-hidden = di PATH, `{ $name }` adalah `{ $other }`, yang berada sebelum `{ $directory }`

## `sessions check`
session-whole = sesi `{ $session }`: utuh
session-incomplete = sesi `{ $session }`: tidak lengkap
session-damaged = sesi `{ $session }`: rusak
session-repaired = sesi `{ $session }`: diperbaiki
session-gone = sesi `{ $session }`: tidak ada yang dapat dipertahankan
session-events = peristiwa: { $count }
session-files = berkas: { $count } ({ $bytes } bita)
session-payloads = muatan besar: { $count } ({ $bytes } bita)
session-orphans = muatan yang tidak disebut catatan mana pun: { $count } (tidak berbahaya)
session-torn = catatan terakhir terpotong: { $bytes } bita (disisihkan saat dijalankan lagi)
session-gaps = peristiwa yang hilang, berulang atau berpindah: { $count } tempat (catatan yang tidak muat di disk penuh, atau jurnal yang disunting)
session-open-calls = panggilan tanpa hasil: { $count } (diberitahukan ke model saat dijalankan lagi)
session-damage = kerusakan pertama: `{ $file }`, baris { $line }: { $detail }
session-moved = disisihkan ke: `{ $path }`
undo-restores = pulihkan: { $path }
undo-removes = hapus: { $path }
undo-keeps = biarkan: { $path } (diabaikan atau terlalu besar untuk disimpan)
undo-changed-since = diubah pihak lain sejak itu: `{ $path }`
undo-unchanged = file sudah seperti semula
undo-done = { $count } file; untuk mengembalikan ini: { $command }
undo-redone = { $count } file; pembatalan telah dikembalikan

## `replay`
replay-no-end = run { $run } tidak memiliki akhir dalam catatan: dimatikan, atau masih berjalan
replay-failed = run { $run } gagal: { $message }
replay-torn = catatan terakhir terpotong; { $bytes } bita dilewati
replay-gaps = peristiwa yang hilang, berulang atau berpindah: { $count } tempat (catatan yang tidak muat di disk penuh, atau jurnal yang disunting)

## `html`
page-prompt = Perintah
page-withheld = Perintah, tidak diberikan kepada model
page-answer = Jawaban
page-arguments = Argumen
page-result = Hasil
page-no-result = tanpa hasil
page-took = { $seconds } detik
page-completed = Selesai dalam { $seconds } detik
page-failed = Gagal: { $message }
page-requests = permintaan ke model: { $count }
page-tokens = token: { $input } dibaca, { $output } ditulis
page-changed = File yang diubah

ask-allow = izinkan `{ $what }`? [y/N]
ask-allow-this = izinkan ini? [y/N]
ask-no-rule = ditanyakan karena tidak ada aturan yang mencakupnya
ask-rule = ditanyakan karena aturan `{ $rule }`
ask-hook = ditanyakan oleh hook `{ $hook }`: { $detail }

## `policy`
policy-allowed = diizinkan oleh `{ $rule }`
policy-denied = ditolak oleh `{ $rule }`: { $reason }
policy-asked = ditanyakan kepada seseorang karena `{ $rule }`: { $reason }
policy-opaque = perintah tidak dapat dibaca karena memuat { $what }
policy-runs = menjalankan `{ $program }` melalui `{ $wrappers }`
policy-reads = membaca `{ $path }`
policy-writes = menulis `{ $path }`
policy-applies = `{ $rule }` berlaku: { $why }
policy-passes = `{ $rule }` tidak berlaku: { $why }
policy-no-rules = tidak ada aturan; docs/configuration.md menjelaskan cara menulisnya
policy-path-bounds = aturan `Read` dan `Write` mencakup berkas menurut jalurnya; docs/security.md menjelaskan batasnya bagi perintah

## Sub-commands
command-logged-out = { $count ->
        [0] tidak ada kunci tersimpan untuk dihapus
       *[other] { $count } kunci tersimpan dihapus
    }
command-forgotten = tidak lagi dipercaya: { $path }
command-nothing-to-forget = tidak ada yang perlu dilupakan: `{ $path }` tidak dipercaya
command-nothing-trusted = tidak ada yang dipercaya; `--trust` memercayai ruang kerja
command-approved-tools = disetujui pada { $since }, { $count } alat
command-no-servers = tidak ada server MCP yang dikonfigurasi; docs/mcp.md menjelaskan cara menambahkannya

## `context`
context-bytes = byte
context-tokens = token*
context-system = Prompt sistem
context-tools = Alat
context-repository = Isi repositori yang tidak tepercaya
context-prompt = Prompt
context-total = total (* perkiraan, masing-masing 3 byte)
context-window = Jendela konteks `{ $model }`: { $tokens } token
context-servers = Tidak dihitung, karena tidak dijalankan di sini: alat dari { $servers }
context-commands = Perintah untuk prompt

## `--help`
help-usage = Penggunaan
help-arguments = Argumen
help-options = Opsi
help-general = Opsi umum
help-commands = Perintah
