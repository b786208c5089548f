import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs

@Suite("The command chatfs doctor")
struct DoctorCommandTests {
    private func run(_ arguments: [String], in folder: TemporaryFolder) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(
            ["doctor", "--data", folder.path("data"), "--database", folder.path("db")] + arguments,
            environment: ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path])
    }

    @Test("a missing core is reported with its path")
    func missing() async throws {
        let folder = try TemporaryFolder()
        for (core, words) in [
            ("ws://127.0.0.1:1", "cannot be reached"), ("lib:\(folder.path)/none.so", "could not be loaded"),
            ("lib:/lib/x86_64-linux-gnu/libc.so.6", "is not a SimpleX library"),
            ("simplex-chat:\(folder.path)/none", "no program at the path"),
            ("simplex-chat:/bin/true", "does not report its version"),
        ] {
            let outcome = try await run(["--core", core], in: folder)
            #expect(outcome.ending == .code(1), "\(core)")
            #expect(outcome.output.contains(words), "\(outcome.output)")
        }
        #expect(try folder.names().filter { $0.hasPrefix("chatfs-doctor") }.isEmpty)
    }

    @Test("database and files folder are not opened")
    func database() async throws {
        let folder = try TemporaryFolder()
        try folder.write([UInt8](repeating: 0x5A, count: 4096), to: "db_chat.db")
        _ = try folder.makeFolder("files")
        let open = try OpenFile(folder.path("db_chat.db"), flags: O_RDONLY)
        let outcome = try await run(
            ["--core", "simplex-chat:/bin/true", "--files-folder", folder.path("files")], in: folder)
        #expect(outcome.output.contains("the database is encrypted"))
        // Or a child of another test, which inherits this process's descriptors until its exec.
        #expect(outcome.output.contains(/\(process [0-9]+\) has the database open/))
        #expect(outcome.output.contains("ok       the files folder can be used"))
        #expect(open.descriptor >= 0)
    }

    @Test("missing rights to unmount are reported")
    func mountTable() throws {
        let folder = try TemporaryFolder()
        let missing = try #require(MachineExamination.mountTable(at: folder.path("mtab")))
        #expect(missing.kind == (geteuid() == 0 ? .note : .bad))
        #expect(missing.text.hasSuffix("ln -s /proc/self/mounts \(folder.path("mtab"))"))
        try folder.write([], to: "mtab")
        #expect(MachineExamination.mountTable(at: folder.path("mtab")) == nil)
    }

    @Test("missing desktop services are reported")
    func buses() {
        let none = BusExamination.findings(hasLibrary: false, session: "unix:path=/a", system: nil)
        #expect(none.count == 1 && none[0].text.contains("libdbus-1-3"))
        let both = BusExamination.findings(hasLibrary: true, session: "unix:path=/a", system: "unix:path=/b")
        #expect(both.map(\.kind) == [.good, .good])
        let neither = BusExamination.findings(hasLibrary: true, session: nil, system: nil)
        #expect(neither.map(\.kind) == [.note, .note])
        #expect(neither[0].text.contains("no desktop notifications"))
    }

    @Test("background programs on a mount are named")
    func desktop() {
        let examination = DesktopExamination(
            home: "/home/ada", configuration: "/home/ada/.config", mountpoints: ["/home/ada/Chats"])
        let excluded = "[JPEG]\nExcludes=/media;/home/ada/Chats\n[PNG]\nExcludes=/home/ada\n"
        #expect(examination.tumbler(excluded).isEmpty)
        for text in ["", "[JPEG]\nExcludes=\n", excluded + "[PDF]\nExcludes=/home/ada/Chats2\n"] {
            #expect(
                examination.tumbler(text).first?.text.contains("Excludes=/home/ada/Chats ") == true, "\(text)"
            )
        }

        for text in [
            "[Basic Settings]\nIndexing-Enabled=false\n",
            "[General]\nexclude folders[$e]=/tmp/,$HOME/Chats/\nfolders[$e]=$HOME/\n",
            "[General]\nfolders[$e]=$HOME/Documents/\n",
        ] {
            #expect(examination.baloo(text, program: "balooctl").isEmpty, "\(text)")
        }
        for text in ["", "[General]\nexclude folders[$e]=$HOME/Cha/\n", "Indexing-Enabled=true\n"] {
            #expect(
                examination.baloo(text, program: "balooctl").map(\.text)
                    == ["Baloo tries to index it: balooctl config add excludeFolders '/home/ada/Chats'"])
        }

        for text in [nil, "@as []\n", "['&DOCUMENTS', '$HOME', '/home/ada']\n"] {
            #expect(examination.tracker(text).isEmpty)
        }
        for text in ["['/home/ada/Chats']\n", "['&MUSIC', '/home/ada/Chats/Bob']\n"] {
            #expect(examination.tracker(text).first?.text.contains("/home/ada/Chats itself") == true)
        }
    }

    @Test("missing preview programs are named")
    func previews() async throws {
        let folder = try TemporaryFolder()
        let complete = try await run([], in: folder)
        #expect(complete.output.contains("ok       pictures are sent with a preview"))
        #expect(complete.output.contains("ok       videos are sent with a preview"))
        let poor = try await ChatFSProcess.run(
            ["doctor", "--data", folder.path("data")],
            environment: ["HOME": folder.path, "PATH": folder.path, "GDK_PIXBUF_MODULE_FILE": "/dev/null"])
        #expect(
            poor.output.contains("note     WebP pictures are sent with a grey preview: install the package "))
        #expect(
            poor.output.contains("note     videos are sent with a grey preview: install the package ffmpeg"))
    }

    @Test("a remote core is not contacted")
    func remote() async throws {
        let folder = try TemporaryFolder()
        let outcome = try await run(["--core", "ws://192.0.2.1:5225"], in: folder)
        #expect(outcome.ending == .code(64))
        #expect(outcome.errors.contains("only to a core on this machine"))
    }

    @Test(
        "an official library's version is read",
        .disabled(
            if: getenv("OFFICIAL_BIN").map { access(String(cString: $0) + "/libsimplex.so", R_OK) != 0 }
                ?? true,
            "OFFICIAL_BIN names no folder with libsimplex.so"))
    func library() async throws {
        let folder = try TemporaryFolder()
        let path = getenv("OFFICIAL_BIN").map { String(cString: $0) + "/libsimplex.so" } ?? ""
        let outcome = try await run(["--core", "lib:" + path], in: folder)
        #expect(outcome.output.contains("ok       the library is SimpleX Chat "), "\(outcome.output)")
        #expect(outcome.output.contains("there is no database yet"))
        #expect(try folder.names().filter { $0.hasPrefix("chatfs-doctor") }.isEmpty)
    }
}
