import Foundation
import Posix
import TestSupport
import Testing

/// Cuts the power at each step of a day in which files are sent, received, replaced, evicted and removed. On every
/// resulting disk the profiles can be mounted, no promise is broken, nothing is sent twice, and no damage is served.
@Suite("power cuts", .serialized)
struct PowerLossTests {
    /// `CHATFS_POWER_LOSS_STATES`: the number of different disk states to try.
    private static let states =
        ProcessInfo.processInfo.environment["CHATFS_POWER_LOSS_STATES"].flatMap(Int.init) ?? 120

    /// `CHATFS_POWER_LOSS_MOUNT_EVERY`: how many of them share one mount by the daemon; 1 for each.
    private static let mountEvery =
        ProcessInfo.processInfo.environment["CHATFS_POWER_LOSS_MOUNT_EVERY"].flatMap(Int.init) ?? 50

    @Test("promises hold after a power cut")
    func cuts() async throws {
        let folder = try TemporaryFolder()
        let day = try await ScriptedDay.record(in: folder, with: Recorder.build(in: folder))
        try #require(day.operations.count > 500, "the recorder saw only \(day.operations.count) operations")
        let cuts = PowerCuts(day: day, folder: folder.path("cut"), mountEvery: max(1, Self.mountEvery))
        let tried = try await cuts.try(states: Self.states) { Issue.record(Comment(rawValue: $0)) }
        print("power cuts: \(tried) states after \(day.operations.count) operations")
        #expect(tried >= Self.states)
    }

    /// In one boot nothing on the disk is lost, and the daemon checks nothing.
    @Test("the recorded day has a boot of its own")
    func boot() async throws {
        let folder = try TemporaryFolder()
        let recorder = try await Recorder.build(in: folder)
        let outcome = try await Shell.run(
            "cat", ["/proc/sys/kernel/random/boot_id"],
            environment: Recorder.environment(recorder, trace: folder.path("trace"), of: folder.path("data")))
        #expect(outcome.succeeded && outcome.output.count >= 36, "\(outcome.errors)")
        #expect(!outcome.output.hasPrefix(try #require(ProcessInformation.boot())))
    }

    @Test("a missing synchronisation is detected")
    func forgetful() async throws {
        let folder = try TemporaryFolder()
        let day = try await ScriptedDay.record(in: folder, with: Recorder.build(in: folder))
        // As if fsync had no effect on the files of outbox and core.
        let careless = DayTrace(
            beginning: day.beginning,
            operations: day.operations.filter {
                switch $0 {
                case .syncFile, .syncFolder, .syncAll: false
                default: true
                }
            })
        var found = 0
        _ = try await PowerCuts(day: careless, folder: folder.path("cut")).try(states: 60, wrong: 1) { _ in
            found += 1
        }
        #expect(found > 0)
    }
}

/// The recording library, built by the system's compiler.
enum Recorder {
    static func build(in folder: TemporaryFolder) async throws -> String {
        let source = #filePath.replacing("PowerLossTests.swift", with: "Recorder/recorder.c")
        let library = folder.path("recorder.so")
        let outcome = try await Shell.run(
            "gcc", ["-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"])
        guard outcome.succeeded else { throw WaitedInVain("gcc: \(outcome.errors)") }
        return library
    }

    /// Lets a program append its operations below `root` to `trace`.
    static func environment(_ library: String, trace: String, of root: String) -> [String: String?] {
        ["LD_PRELOAD": library, "CHATFS_TRACE": trace, "CHATFS_TRACE_ROOT": root]
    }
}
