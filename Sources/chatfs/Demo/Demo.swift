import Base
import CommandLineKit
import Cryptography
import Glibc
import Posix

/// Two people, a relay between them and their chats as folders on this machine, while it runs.
struct Demo {
    let folder: DemoFolder
    /// The path as the user typed it, for lines to copy.
    let shownPath: String
    let stop: StopRequest
    /// Key of all demo data; only in the memory of the demo's processes.
    private let key = SecretBytes(randomCount: 32)

    /// Sets everything up, waits for the stop, and tears everything down.
    func run() async throws {
        var children: [DemoChild] = []
        let watch = TransferWatch(folder)
        do {
            try await build(&children)
            watch.start()
            showScreen()
            try await waitForEnd(children)
        } catch {
            watch.stop()
            await takeDown(children)
            throw error
        }
        watch.stop()
        await takeDown(children)
        try await folder.remove()
        Terminal.print("The demo is over; all its files are removed.")
    }

    private func build(_ children: inout [DemoChild]) async throws {
        let data = ["--data", folder.state("data")]
        Terminal.print("Starting a relay and two people…")
        let relay = try await DemoChild.start(
            "The relay", ["relay", "--listen", "127.0.0.1:0", "--dir", folder.state("relay")], key: key)
        children.append(relay)
        let files = try await relay.line { $0.hasPrefix("xftp://") }
        let messages = try await relay.line { $0.hasPrefix("smp://") }
        for person in DemoFolder.people {
            try await DemoChild.run(
                "Making the profile", ["profile", "create", person, "--relay", files] + data, key: key)
        }
        try await connect(over: messages, data)
        try await DemoChild.run(
            "Making the group", ["group", "create", "Book club", "alice", "bob"] + data, key: key)
        for person in DemoFolder.people {
            let mount = try await DemoChild.start(
                "The mount of \(person)",
                ["mount", folder.mountpoint(of: person), "--notifications", "off", "--profile", person]
                    + ["--cache-dir", folder.state("cache-" + person)] + data, key: key)
            children.append(mount)
            try await waitForMount(mount, person)
        }
        try await sendSamples(children)
    }

    /// Connects the two as on two machines: one shows a link, the other uses it.
    private func connect(over server: String, _ data: [String]) async throws {
        let pair = try await DemoChild.start(
            "Showing a link", ["pair", "--profile", "alice", "--server", server] + data, key: key)
        let link = try await pair.line { $0.hasPrefix("https://") }
        try await DemoChild.run(
            "Using the link", ["accept", link, "--profile", "bob", "--server", server] + data, key: key)
        guard await pair.process.ending(within: .seconds(60)) == .code(0) else { throw pair.failure() }
    }

    private func waitForMount(_ child: DemoChild, _ person: String) async throws {
        let path = folder.mountpoint(of: person)
        try await wait(for: child) {
            try MountTable.mounts(below: path).contains {
                $0.path.hasSameBytes(as: path) && $0.type == "fuse.chatfs"
            }
        }
    }

    /// Polls every 20 ms. Fails if the child ends, or after 30 seconds.
    private func wait(for child: DemoChild, until holds: @Sendable () async throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(30)
        while true {
            if stop.isRequested { throw ExitCode.success }
            let running = child.isRunning
            if try await holds() { return }
            guard running, ContinuousClock.now < end else { throw child.failure() }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Copies the samples into the folders as a user would, and waits until they arrive.
    private func sendSamples(_ children: [DemoChild]) async throws {
        for sample in Sample.all {
            let from = folder.path + "/" + sample.from
            try await ThreadPool.shared.run { () throws(SystemError) in
                let file = try OpenFile(from, flags: O_WRONLY | O_CREAT | O_EXCL)
                try file.write(sample.bytes(), at: 0)
            }
        }
        guard let mount = children.last else { return }
        for sample in Sample.all {
            let (from, to) = (folder.path + "/" + sample.from, folder.path + "/" + sample.to)
            try await wait(for: mount) {
                try await ThreadPool.shared.run { () throws(SystemError) in
                    let state = try ExtendedAttribute.text("user.chatfs.state", of: from)
                    return access(to, F_OK) == 0 && ["sent", "delivered", "stored"].contains(state)
                }
            }
        }
    }

    /// Waits for a stop signal or the end of a child.
    private func waitForEnd(_ children: [DemoChild]) async throws {
        while !stop.isRequested {
            if let lost = children.first(where: { !$0.isRunning }) {
                // `chatfs unmount` on one of the folders regularly ends the demo.
                if lost.process.errors.isEmpty { return }
                throw lost.failure()
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Stops the mounts first, concurrently, because they still use the relay; then the relay.
    private func takeDown(_ children: [DemoChild]) async {
        Terminal.write(Terminal.isTerminal(STDOUT_FILENO) ? "\r\u{1B}[K" : "", to: STDOUT_FILENO)
        await withTaskGroup { group in
            for mount in children.dropFirst() {
                group.addTask { _ = await mount.process.stop(timeout: .seconds(15)) }
            }
        }
        await children.first?.process.stop(timeout: .seconds(5))
    }

    private func showScreen() {
        let path = shownPath.contains(" ") ? "'\(shownPath)'" : shownPath
        Terminal.print(
            """

            ChatFS demo: alice and bob, each with a folder, and a relay between them.

              \(path)/alice    the chats of alice: bob, 'Book club' and her notes
              \(path)/bob      the chats of bob: alice, 'Book club' and his notes

            Try in another terminal, or in a file manager:

              ls -l \(path)/bob/alice
                  Files from alice with real names and sizes; only the picture is local.
              getfattr -n user.chatfs.state \(path)/bob/alice/waves.wav
                  'remote': nothing was downloaded yet.
              cp \(path)/bob/alice/waves.wav /tmp
                  Reading it receives it. Now the state is 'stored'.
              cp /etc/os-release \(path)/bob/alice/
                  Copying a file in sends it; look into \(path)/alice/bob.
              cp /etc/os-release '\(path)/alice/Book club/'
                  The same in a group.

            Ctrl-C ends the demo and removes everything. Events:

            """)
    }
}

/// A file sent when the demo begins.
private struct Sample: Sendable {
    /// Source and destination below the demo's folder.
    let from: String
    let to: String
    let bytes: @Sendable () -> [UInt8]

    static let all = [
        Sample(from: "alice/bob/hello.txt", to: "bob/alice/hello.txt") {
            Array("Hello Bob! This file waited on the relay until you read it.\n".utf8)
        },
        Sample(from: "alice/bob/sunset.png", to: "bob/alice/sunset.png") { SampleImage.png() },
        Sample(from: "alice/bob/waves.wav", to: "bob/alice/waves.wav") { SampleSound.wav() },
        Sample(from: "bob/Book club/reading list.txt", to: "alice/Book club/reading list.txt") {
            Array("1. The Sea, the Sea\n2. The Waves\n3. To the Lighthouse\n".utf8)
        },
        Sample(from: "alice/Saved notes/shopping.txt", to: "alice/Saved notes/shopping.txt") {
            Array("tea\nbread\nlamp oil\n".utf8)
        },
    ]
}
