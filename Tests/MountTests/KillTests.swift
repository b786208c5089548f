import Foundation
import Glibc
import Posix
import TestSupport
import Testing

/// Again and again the daemon ends while files are being copied in, each time in another way and at another moment.
/// `contrib/kills COUNT` does it more often.
@Suite("Many kills", .serialized)
struct KillTests {
    private static let count = ProcessInfo.processInfo.environment["CHATFS_KILLS"].flatMap(Int.init) ?? 15

    @Test("copied files arrive once and complete despite kills")
    func kills() async throws {
        var run = KillRun(stage: try await CopyStage.start(), generator: SeededGenerator(state: 20))
        let bob = try await run.stage.mount("bob")
        for round in 0..<Self.count { try await run.round(round) }
        try await run.expectAllArrived()
        try await bob.terminate()
        print(
            "kills: \(Self.count), files copied: \(run.copied.count), cut off: \(run.begun.count - run.copied.count)"
        )
    }
}

/// How a connection ends that nobody expected to.
private enum Attack: CaseIterable {
    case kill, terminate, lazyUnmount, forcedUnmount, abort

    /// Only root can do the last ones.
    static var possible: [Attack] { geteuid() == 0 ? allCases : [.kill, .terminate, .lazyUnmount] }
}

private struct KillRun {
    let stage: CopyStage
    var generator: SeededGenerator
    /// What a copy was begun of, and what `cp` has reported as copied.
    private(set) var begun: [String] = []
    private(set) var copied: Set<String> = []

    init(stage: CopyStage, generator: SeededGenerator) {
        self.stage = stage
        self.generator = generator
    }

    /// Copies files, one after the other, while another program holds one half written, until the attack.
    mutating func round(_ number: Int) async throws {
        let alice = try await stage.mount(
            "alice", quietTime: "\(Int.random(in: 1...80, using: &generator))ms")
        let names = (0..<6).map { "file \(number)-\($0).bin" }
        for (index, name) in names.enumerated() {
            let isLarge = index == number % 12
            let size = isLarge ? 300_000 : Int.random(in: 1...30_000, using: &generator)
            try stage.prepare(name, sample(size, seed: number * 10 + index))
        }
        begun += names
        let writer = try await RunningProcess.start(unfinishedWriter("half \(number).bin"))
        try await writer.line("that it has written") { $0 == "written" }
        let copies = try await RunningProcess.start(copying(names))
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...80, using: &generator)))
        let attack = Attack.possible.randomElement(using: &generator) ?? .kill
        try await perform(attack, on: alice)
        // Its descriptors are worth nothing any more; that it closes them is no completion.
        writer.send(SIGKILL)
        try await writer.ending()
        try await copies.ending(within: .seconds(60))
        copied.formUnion(copies.lines)
        try await alice.ending()
    }

    private func perform(_ attack: Attack, on alice: RunningProcess) async throws {
        let mountpoint = stage.folder.path("a")
        switch attack {
        case .kill: alice.send(SIGKILL)
        case .terminate: alice.send(SIGTERM)
        case .lazyUnmount: _ = try await Shell.run("fusermount3", ["-u", "-z", mountpoint])
        case .forcedUnmount: _ = try await Shell.run("umount", ["-f", mountpoint])
        case .abort: try await FuseControl.abort(mountpoint)
        }
    }

    mutating func expectAllArrived() async throws {
        let alice = try await stage.mount("alice")
        try await stage.waitForArrival(of: Array(copied))
        try await stage.waitUntilQuiet()
        let arrived = Set(try stage.arrived().filter { !$0.hasPrefix("zz") })
        // A second message of a file would have a name of its own: `file 1 (2).bin`.
        #expect(arrived.isSubset(of: begun), "sent twice, or half: \(arrived.subtracting(begun).sorted())")
        // What was cut off may have been whole: then it is.
        #expect(try await stage.expectEqual(arrived.sorted()))
        // Each half-written file is kept for who wrote it.
        let recovered = try stage.folder.names(in: "a/.chatfs/recovered")
        #expect(recovered.allSatisfy { $0.hasPrefix("half") || begun.contains($0) }, "\(recovered)")
        #expect(try await alice.terminate() == .code(0))
    }

    private func copying(_ names: [String]) throws -> ChildProcess.Settings {
        var settings = ChildProcess.Settings(
            "/bin/sh",
            [
                "-c",
                "for name; do cp \"$SOURCE/$name\" \"$FOLDER/\" 2>/dev/null && echo \"$name\"; done; true",
                "sh",
            ]
                + names)
        settings.environment = ["SOURCE": stage.source, "FOLDER": stage.toBob]
        return settings
    }

    /// Not of the shell: its redirections close copies of the descriptor, which looks like the end of a file.
    private func unfinishedWriter(_ name: String) throws -> ChildProcess.Settings {
        var settings = ChildProcess.Settings(
            try Shell.find("python3"),
            [
                "-c",
                "import sys; f = open(sys.argv[1], 'wb', buffering=0); f.write(b'half'); "
                    + "print('written', flush=True); sys.stdin.read()", stage.toBob + "/" + name,
            ])
        settings.input = .pipe
        return settings
    }
}
