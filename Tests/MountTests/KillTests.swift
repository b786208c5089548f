import Foundation
import Glibc
import Posix
import TestSupport
import Testing

/// Ends the daemon again and again while files are copied in, in different ways and at different times. `contrib/kills
/// COUNT` runs more rounds.
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

/// Unexpected ends of a connection.
private enum Attack: CaseIterable {
    case kill, terminate, lazyUnmount, forcedUnmount, abort

    /// Some need root.
    static var possible: [Attack] { geteuid() == 0 ? allCases : [.kill, .terminate, .lazyUnmount] }
}

private struct KillRun {
    let stage: CopyStage
    var generator: SeededGenerator
    /// Started copies, and those that `cp` reported as complete.
    private(set) var begun: [String] = []
    private(set) var copied: Set<String> = []

    init(stage: CopyStage, generator: SeededGenerator) {
        self.stage = stage
        self.generator = generator
    }

    /// Copies files one by one, while another program holds one half-written, until the attack.
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
        // Its descriptors are dead, so their close is no completion.
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
        // A duplicate message would be named `file 1 (2).bin`.
        #expect(arrived.isSubset(of: begun), "sent twice, or half: \(arrived.subtracting(begun).sorted())")
        // An interrupted copy may have been complete.
        #expect(try await stage.expectEqual(arrived.sorted()))
        // Each half-written file is recovered.
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

    /// Not the shell's redirection, which closes copies of the descriptor and looks like a completion.
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
