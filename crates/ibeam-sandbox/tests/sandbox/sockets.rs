//! The Unix sockets that a command can reach: those of commands and those that were granted, but no other socket of the
//! host.
//!
//! The tests run as the user of the tests, if that is root also as an ordinary user, and with the `/proc` of a
//! container. Without Python they are skipped with a message.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use ibeam_sandbox::{Confinement, DEFAULT_PROCESS_LIMIT, LaunchSpec, Launcher, Tier};
use ibeam_testkit::Workspace;

use crate::command::{self, Started, TIMEOUT, finish, is_installed};
use crate::environment::{again, environment, inside, is_root, ordinary_user, words};

/// The start of every script. `dial(path)` connects a stream socket with a blocking call.
const PRELUDE: &str = "import os, socket, sys, threading\n\
    def dial(path, kind=socket.SOCK_STREAM):\n    s = socket.socket(socket.AF_UNIX, kind); s.connect(path); return s\n";

struct Fixture {
    launcher: Launcher,
    workspace: Workspace,
}

impl Fixture {
    #[track_caller]
    fn new(workspace: Workspace, granted: Vec<PathBuf>) -> Self {
        let confinement = Confinement {
            writable: vec![workspace.path().to_owned()],
            visible: vec![workspace.home().to_owned()],
            sockets: granted,
            ..Confinement::default()
        };
        let launcher = Launcher::confined(DEFAULT_PROCESS_LIMIT, confinement);
        let layers = launcher.start().unwrap();
        assert_eq!(layers.tier, Tier::Namespaces, "{layers:?}");
        Self { launcher, workspace }
    }

    /// Starts a Python script.
    fn start(&self, script: &str) -> Started {
        let script = format!("{PRELUDE}{script}");
        let spawn = |launch: &LaunchSpec<'_>| self.launcher.spawn(launch);
        let (directory, home) = (self.workspace.path(), self.workspace.home());
        command::start(spawn, directory, home, Path::new("/usr/bin/env"), &["env", "python3", "-c", &script])
    }

    /// Runs a Python script until it ends. Returns its output.
    #[track_caller]
    fn run(&self, script: &str) -> String {
        finish(self.start(script), script).0
    }

    #[track_caller]
    fn refuses(&self, script: &str) {
        let output = self.run(script);
        assert!(output.contains("Permission") || output.contains("not permitted"), "{script}: {output}");
    }
}

#[track_caller]
fn is_untouched(listener: &UnixListener) {
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "a connection has arrived");
}

/// Runs a test body here, as an ordinary user if this is root, and where `/proc` shows other pids than commands use, as
/// in containers.
fn as_both_users(test: &str, body: fn()) {
    if !is_installed("python3") {
        return;
    }
    body();
    if environment().is_some() {
        return;
    }
    if is_root() {
        again(test, "as an ordinary user", &ordinary_user());
    }
    again(test, "with the /proc of the system", &inside("mount -t tmpfs none /proc/fs"));
}

tests_in! { as_both_users:
    fn sockets_of_the_host_are_refused_at_any_place_and_time() {
        let workspace = Workspace::new();
        let before = UnixListener::bind(workspace.path().join("before")).unwrap();
        let at_home = UnixListener::bind(workspace.home().join("agent")).unwrap();
        let fixture = Fixture::new(workspace, Vec::new());
        let root = fixture.workspace.path();
        // The first command has created the view by now.
        assert_eq!(fixture.run("print(1)"), "1\n");
        let after = UnixListener::bind(root.join("after")).unwrap();
        let renamed = UnixListener::bind(root.join("old-name")).unwrap();
        std::fs::rename(root.join("old-name"), root.join("renamed")).unwrap();
        let linked = UnixListener::bind(root.join("linked")).unwrap();
        std::fs::hard_link(root.join("linked"), root.join("second-name")).unwrap();
        std::os::unix::fs::symlink("after", root.join("link")).unwrap();
        let home = fixture.workspace.home().join("agent");
        for path in ["before", "after", "renamed", "linked", "second-name", "link", "./src/../after"] {
            std::fs::create_dir_all(root.join("src")).unwrap();
            fixture.refuses(&format!("dial('{path}')"));
            fixture.refuses(&format!("s = socket.socket(socket.AF_UNIX); s.setblocking(False); s.connect('{path}')"));
            fixture.refuses(&format!("os.chdir('src'); dial('{}')", root.join(path).display()));
        }
        fixture.refuses(&format!("dial('{}')", home.display()));
        // The command itself moves the socket and connects from another directory.
        fixture.refuses("os.rename('renamed', 'src/x'); os.chdir('src'); dial('x')");
        fixture.refuses("os.link('after', 'src/y'); dial('src/y')");
        // From another thread and from another process.
        fixture.refuses("t = threading.Thread(target=lambda: dial('after')); t.start(); t.join()");
        fixture.refuses("os.fork() or dial('after'); os.wait()");
        for listener in [&before, &at_home, &after, &renamed, &linked] {
            is_untouched(listener);
        }
    }

    fn a_host_socket_that_replaces_an_own_one_is_refused() {
        let fixture = Fixture::new(Workspace::new(), Vec::new());
        let host = UnixListener::bind(fixture.workspace.path().join("host")).unwrap();
        // Another thread keeps swapping both files. The connection must go to the file that was checked.
        let script = "import ctypes\n\
            own = socket.socket(socket.AF_UNIX); own.bind('own'); own.listen(4096)\n\
            os.link('host', 'a'); os.link('own', 'b')\n\
            libc = ctypes.CDLL(None); done = False\n\
            def swap():\n    while not done: libc.renameat2(-100, b'a', -100, b'b', 2)\n\
            t = threading.Thread(target=swap); t.start()\n\
            reached = 0\n\
            for _ in range(2000):\n\
            \x20   s = socket.socket(socket.AF_UNIX); s.setblocking(False)\n\
            \x20   try: s.connect('a'); reached += 1\n\
            \x20   except OSError: pass\n\
            \x20   s.close()\n\
            done = True; t.join(); print(reached > 0, reached < 2000)\n";
        assert_eq!(fixture.run(script), "True True\n");
        is_untouched(&host);
    }

    fn datagrams_reach_no_socket_of_the_host() {
        let fixture = Fixture::new(Workspace::new(), Vec::new());
        let host = UnixDatagram::bind(fixture.workspace.path().join("log")).unwrap();
        fixture.refuses("socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', 'log')");
        fixture.refuses("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', 'log')");
        let packets = fixture.run("socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0].sendto(b'x', 'log')");
        assert!(!packets.contains("not permitted"), "{packets}");
        host.set_nonblocking(true).unwrap();
        assert!(host.recv(&mut [0]).is_err());
    }

    fn sockets_of_commands_reach_each_other() {
        let fixture = Fixture::new(Workspace::new(), Vec::new());
        let echo = "s = socket.socket(socket.AF_UNIX, kind); s.bind(path); s.listen()\n\
            def serve():\n    c, _ = s.accept(); c.send(c.recv(9).upper())\n\
            threading.Thread(target=serve).start()\n\
            c = dial(path, kind); c.send(b'hello'); print(c.recv(9).decode(), s.getsockname())\n";
        for (path, kind) in [("own", "SOCK_STREAM"), ("/tmp/own", "SOCK_STREAM"), ("packets", "SOCK_SEQPACKET")] {
            let output = fixture.run(&format!("path, kind = '{path}', socket.{kind}\n{echo}"));
            assert_eq!(output, format!("HELLO {path}\n"));
        }
        assert_eq!(fixture.run(&format!("path, kind = '\\0name', socket.SOCK_STREAM\n{echo}")), "HELLO b'\\x00name'\n");
        // Non-blocking as in event loops, a connected pair, and files without a listener.
        let asyncio = "import asyncio\n\
            async def main():\n\
            \x20   async def serve(r, w): w.write(await r.read(5)); await w.drain(); w.close()\n\
            \x20   server = await asyncio.start_unix_server(serve, 'loop')\n\
            \x20   r, w = await asyncio.open_unix_connection('loop'); w.write(b'again'); print((await r.read()).decode())\n\
            asyncio.run(main())\n";
        assert_eq!(fixture.run(asyncio), "again\n");
        assert_eq!(fixture.run("a, b = socket.socketpair(); a.send(b'pair'); print(b.recv(9).decode())"), "pair\n");
        let missing = fixture.run("dial('missing')");
        assert!(missing.contains("FileNotFoundError"), "{missing}");
        let plain = fixture.run("open('plain', 'w'); dial('plain')");
        assert!(plain.contains("ConnectionRefusedError"), "{plain}");
        let closed = fixture.run("s = socket.socket(socket.AF_UNIX); s.bind('closed'); s.close(); dial('closed')");
        assert!(closed.contains("Error"), "{closed}");
    }

    fn a_later_command_reaches_the_server_of_an_earlier_one() {
        let fixture = Fixture::new(Workspace::new(), Vec::new());
        let (mut server, mut ready) = fixture.start(
            "s = socket.socket(socket.AF_UNIX); s.bind('/tmp/server'); s.listen(); print('.', flush=True)\n\
             c, _ = s.accept(); c.send(b'served')",
        );
        ready.read_exact(&mut [0; 2]).unwrap();
        assert_eq!(fixture.run("print(dial('/tmp/server').recv(9).decode())"), "served\n");
        assert!(server.wait_until_gone(TIMEOUT));
    }

    fn loopback_connections_are_not_changed() {
        let fixture = Fixture::new(Workspace::new(), Vec::new());
        let script = "s = socket.create_server(('127.0.0.1', 0)); port = s.getsockname()[1]\n\
            def serve():\n    for _ in range(2):\n        c, _ = s.accept(); c.send(b'tcp')\n\
            threading.Thread(target=serve).start()\n\
            c = socket.create_connection(('127.0.0.1', port)); print(c.recv(9).decode())\n\
            c = socket.socket(); c.setblocking(False); print(c.connect_ex(('127.0.0.1', port)) in (0, 115))\n\
            c.setblocking(True); print(c.recv(9).decode())\n\
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.connect(('127.0.0.1', port)); print(u.getpeername()[0])\n\
            print(socket.socket().connect_ex(('127.0.0.1', 1)), socket.socket().connect_ex(('192.0.2.1', 80)))\n\
            socket.socket(socket.AF_INET6).connect(('::1', 1))\n";
        let output = fixture.run(script);
        assert!(output.contains("tcp\nTrue\ntcp\n127.0.0.1\n111 101\n"), "{output}");
        assert!(output.contains("ConnectionRefusedError"), "{output}");
    }

    fn an_invalid_address_or_descriptor_is_only_an_error() {
        let fixture = Fixture::new(Workspace::new(), Vec::new());
        let script = "import ctypes\n\
            libc = ctypes.CDLL(None, use_errno=True); s = socket.socket(socket.AF_UNIX)\n\
            def errno(*a): ctypes.set_errno(0); libc.connect(*a); return ctypes.get_errno()\n\
            print(errno(s.fileno(), ctypes.c_void_p(8), 16), errno(99, b'\\1\\0x\\0', 4), errno(s.fileno(), b'', -1),\n\
            \x20     errno(s.fileno(), b'x' * 200, 200), errno(0, b'\\1\\0x\\0', 4), errno(s.fileno(), b'\\1\\0', 2))\n\
            print('alive')\n";
        assert_eq!(fixture.run(script), "14 9 22 22 88 22\nalive\n");
    }

    fn a_granted_socket_is_reached_and_its_neighbour_is_not() {
        let other_workspace = Workspace::new_in(Path::new("/var/tmp"));
        let directory = other_workspace.outside().to_owned();
        let granted = UnixListener::bind(directory.join("granted")).unwrap();
        let other = UnixListener::bind(directory.join("other")).unwrap();
        let workspace = Workspace::new();
        let inside = UnixListener::bind(workspace.path().join("inside")).unwrap();
        let paths = vec![directory.join("granted"), workspace.path().join("inside")];
        let fixture = Fixture::new(workspace, paths);
        for (listener, path) in [(&granted, directory.join("granted")), (&inside, "inside".into())] {
            std::thread::scope(|scope| {
                scope.spawn(|| listener.accept().unwrap().0.write_all(b"granted").unwrap());
                let output = fixture.run(&format!("print(dial('{}').recv(9).decode())", path.display()));
                assert_eq!(output, "granted\n");
            });
        }
        let output = fixture.run(&format!("dial('{}')", directory.join("other").display()));
        assert!(output.contains("Error"), "{output}");
        is_untouched(&other);
    }

    fn a_command_that_ends_while_it_connects_ends() {
        let fixture = Fixture::new(Workspace::new(), Vec::new());
        // The queue of a listener that does not accept is full, so this call blocks.
        let script = "s = socket.socket(socket.AF_UNIX); s.bind('full'); s.listen(0)\n\
            def fill():\n    for _ in range(9): dial('full')\n\
            t = threading.Thread(target=fill, daemon=True); t.start(); t.join(0.5); print(t.is_alive(), flush=True); os._exit(0)\n";
        let (mut tree, mut reader) = fixture.start(script);
        let mut output = String::new();
        reader.read_to_string(&mut output).unwrap();
        assert_eq!(output, "True\n");
        tree.kill();
        assert!(tree.wait_until_gone(TIMEOUT));
    }
}

/// Installs a filter that allows every call and has a listener, keeps the listener open, and executes another program.
const OUTER_LISTENER: &str = "import ctypes, os, struct, sys\n\
    libc = ctypes.CDLL(None, use_errno=True)\n\
    allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n\
    class Program(ctypes.Structure): _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]\n\
    program = Program(1, ctypes.addressof(allow))\n\
    libc.prctl(38, 1, 0, 0, 0)\n\
    number = 277 if os.uname().machine == 'aarch64' else 317\n\
    listener = libc.syscall(number, 1, ctypes.c_ulong(8), ctypes.byref(program))\n\
    if listener < 0: sys.exit('no listener: ' + os.strerror(ctypes.get_errno()))\n\
    os.set_inheritable(listener, True)\n\
    os.execv(sys.argv[1], sys.argv[1:])\n";

#[test]
fn under_an_outer_listener_only_socket_pairs_are_allowed() {
    if !is_installed("python3") {
        return;
    }
    if environment().is_none() {
        let test = test_name!(under_an_outer_listener_only_socket_pairs_are_allowed);
        return again(test, "under an outer listener", &words(&["python3", "-c", OUTER_LISTENER]));
    }
    let fixture = Fixture::new(Workspace::new(), Vec::new());
    fixture.refuses("socket.socket(socket.AF_UNIX)");
    assert_eq!(
        fixture.run("a, b = socket.socketpair(); a.send(b'pair'); print(b.recv(9).decode())"),
        "pair\n"
    );
    let tcp =
        "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('tcp')";
    assert_eq!(fixture.run(tcp), "tcp\n");
}
