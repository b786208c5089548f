import Glibc
import Posix
import TestSupport
import Testing

/// Buttons and clicks in dunst, with a file manager and a portal that log their requests.
@Suite("Clicks in a real notification daemon", .serialized, .enabled(if: RealDaemon.isInstalled))
struct ClickTests {
    private struct Stage {
        let desktop: NotificationDesktop
        let daemon: RealDaemon
        let mounts: TwoMounts

        /// Only Bob has this desktop.
        static func start(
            quietTime: String = "0s", options: [String] = [], configuration: String? = nil
        ) async throws -> Stage {
            let desktop = try await NotificationDesktop.start(nil)
            try await desktop.startService(.programs)
            let daemon = try await RealDaemon.start(on: desktop)
            let mounts = try await TwoMounts.start(mounting: ["alice"], encrypted: false)
            var environment = daemon.environment
            if let configuration {
                _ = try mounts.folder.makeFolder("chatfs")
                try mounts.folder.write(
                    Array("[mounts.ours]\nmountpoint = \"\(mounts.path("bob"))\"\n\(configuration)".utf8),
                    to: "chatfs/config.toml")
                environment["XDG_CONFIG_HOME"] = mounts.folder.path
            }
            try await mounts.mount(
                "bob", ["--quiet-time", quietTime] + options, environment: environment)
            let folders = try mounts.folder.names(in: "data/profiles")
            try await wait(until: "the mount knows what was told") {
                folders.contains { access(mounts.path("data/profiles/\($0)/notifications"), F_OK) == 0 }
            }
            return Stage(desktop: desktop, daemon: daemon, mounts: mounts)
        }

        func waitFor(_ revealed: String) async throws {
            try await wait(until: "\(revealed) is among \(desktop.revealed)") {
                desktop.revealed.contains(revealed)
            }
        }
    }

    @Test("click, Open, Show in Folder, Mark as Read")
    func files() async throws {
        let stage = try await Stage.start()
        let (mounts, path) = (stage.mounts, stage.mounts.path("bob/alice/"))
        try mounts.write([1], to: "alice/bob/click.txt")
        try await stage.daemon.waitFor("click.txt")
        try await stage.daemon.click()
        try await stage.waitFor("select file://\(path)click.txt")
        try mounts.write([1], to: "alice/bob/open.txt")
        try await stage.daemon.waitFor("open.txt")
        try await stage.daemon.press("Open")
        try await stage.waitFor("open \(path)open.txt")
        try mounts.write([1], to: "alice/bob/show.txt")
        try await stage.daemon.waitFor("show.txt")
        try await stage.daemon.press("Show in Folder")
        try await stage.waitFor("select file://\(path)show.txt")
        try await mounts.run(["send", "bob", "--text", "Hello", "--profile", "alice"])
        try await stage.daemon.waitFor("Hello")
        try await wait(until: "all is counted") { stage.desktop.counts.last == 4 }
        try await stage.daemon.press("Mark as Read")
        try await wait(until: "nothing is unread") { stage.desktop.counts.last == 0 }
    }

    @Test("Approve Relay receives the file")
    func approve() async throws {
        let stage = try await Stage.start()
        let mounts = stage.mounts
        try await mounts.run(["relay", "remove", mounts.relayAddress, "--profile", "bob"])
        try await mounts.send(TwoMounts.bytes(400_000), as: "film.bin")
        let film = mounts.path("bob/alice/film.bin")
        #expect(try await Shell.run("cat", [film]).errors.contains("Permission denied"))
        try await stage.daemon.waitFor("waits for your approval")
        try await stage.daemon.press("Approve Relay")
        try await wait(until: "the file can be read") {
            try await Shell.run("cmp", [film, mounts.path("alice/bob/film.bin")]).succeeded
        }
    }

    @Test("Keep receives an expiring file")
    func keep() async throws {
        let stage = try await Stage.start()
        let mounts = stage.mounts
        try await mounts.send(TwoMounts.bytes(400_000), as: "soon.bin")
        #expect(try await mounts.leave("bob") == .code(0))
        try await mounts.change(
            "UPDATE file SET expires = expires - 37 * 3600000000000 WHERE name = ? AND recipient IS NOT NULL",
            ["soon.bin"])
        try await mounts.mount("bob", environment: stage.daemon.environment)
        try await stage.daemon.waitFor("expires on the relay soon")
        try await stage.daemon.press("Keep")
        try await wait(until: "it is kept") { try mounts.state("bob/alice/soon.bin") != "remote" }
    }

    @Test("Try Again, Send and Discard act on drafts")
    func sending() async throws {
        let stage = try await Stage.start(quietTime: "3s")
        let mounts = stage.mounts
        try mounts.write([1, 2], to: "bob/alice/report.txt")
        try await mounts.run(["contact", "leave", "alice", "--profile", "bob"])
        try await stage.daemon.waitFor("report.txt could not be sent.")
        try await mounts.run(["connect", "alice", "bob"])
        try await stage.daemon.press("Try Again")
        try await mounts.waitForFile("alice/bob/report.txt")
        for (button, name) in [("Discard", "one.bin"), ("Send", "two.bin")] {
            try await stage.daemon.clear()
            // The writer ends by a signal, so the file may be unfinished.
            let writing =
                "import os; f = os.open(os.environ['FILE'], 65, 384); os.write(f, b'x' * 1000); os.kill(os.getpid(), 9)"
            _ = try await Shell.run(
                "python3", ["-c", writing], environment: ["FILE": mounts.path("bob/alice/\(name)")])
            try await stage.daemon.waitFor("\(name) may be unfinished")
            try await stage.daemon.press(button)
            if button == "Send" {
                try await mounts.waitForFile("alice/bob/\(name)")
            } else {
                try await wait(until: "it has gone") { access(mounts.path("bob/alice/\(name)"), F_OK) != 0 }
            }
        }
    }

    @Test("a refused operation is permitted and remembered")
    func permissions() async throws {
        let stage = try await Stage.start(configuration: "folders = \"refuse\"\n")
        let mounts = stage.mounts
        try await mounts.send([1, 2], as: "old.txt")
        #expect(errorCode { unlink(mounts.path("bob/alice/old.txt")) } == EPERM)
        try await stage.daemon.waitFor("allow deleting")
        try await stage.daemon.press("Allow Deleting")
        try await wait(until: "it can be deleted") { unlink(mounts.path("bob/alice/old.txt")) == 0 }

        #expect(errorCode { mkdir(mounts.path("bob/alice/trip"), 0o700) } == EPERM)
        try await stage.daemon.waitFor("one ZIP archive")
        try await stage.daemon.press("Send as Archive")
        try await wait(until: "the folder is accepted") {
            mkdir(mounts.path("bob/alice/trip"), 0o700) == 0
        }
        try mounts.write([1], to: "bob/alice/trip/a.txt")
        try await mounts.waitForFile("alice/bob/trip.zip")

        try await mounts.send(TwoMounts.bytes(400_000), as: "film.bin")
        // A program that is known as a scanner, by its name.
        let scanner = mounts.path("clamscan")
        #expect(try await Shell.run("cp", [try Shell.find("cat"), scanner]).succeeded)
        #expect(!(try await Shell.run(scanner, [mounts.path("bob/alice/film.bin")]).succeeded))
        try await stage.daemon.waitFor("allow the program")
        try await stage.daemon.press("Allow Program")
        try await wait(until: "the program receives it") {
            try await Shell.run(scanner, [mounts.path("bob/alice/film.bin")]).succeeded
        }
        let text = String(decoding: try mounts.read("chatfs/config.toml"), as: UTF8.self)
        for line in ["delete = \"self\"", "folders = \"archive\"", "allow = [\"clamscan\"]"] {
            #expect(text.split(separator: "\n").count { $0 == line } == 1, "\(text)")
        }
    }

    @Test("Accept and Reject answer contact requests")
    func requests() async throws {
        let desktop = try await NotificationDesktop.start(nil)
        let daemon = try await RealDaemon.start(on: desktop)
        let machines = try await TwoMachines()
        let made = try await ChatFSProcess.run(
            ["address", "create", "--profile", "alice"] + machines.data("alice") + machines.servers)
        let link = String(made.output.dropLast())
        let mount = try await machines.mount("alice", environment: daemon.environment)
        for (name, button) in [("bob", "Accept"), ("carol", "Reject")] {
            let data = ["--data", machines.folder.path("\(name) data")]
            let asking = try await ChatFSProcess.start(
                ["accept", link, "--profile", name] + data + machines.servers)
            try await daemon.waitFor("\(name) asks to be your contact")
            try await daemon.press(button)
            if button == "Accept" {
                #expect(try await asking.ending() == .code(0))
                try await daemon.waitFor("\(name) is connected")
            } else {
                try await wait(until: "nobody waits any more") {
                    try await ChatFSProcess.run(["requests"] + machines.data("alice")).output.isEmpty
                }
                asking.send(SIGINT)
                _ = try await asking.ending()
            }
        }
        #expect(try await mount.terminate() == .code(0))
        #expect(try await machines.relay.terminate() == .code(0))
    }
}
