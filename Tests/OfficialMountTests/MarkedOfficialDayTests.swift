import Glibc
import Posix
import TestSupport
import Testing

/// Every text that users type at an official core contains a mark. The files that ChatFS keeps contain no
/// mark.
@Suite(
    "Marks in the files beside an official core", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct MarkedOfficialDayTests {
    private static let marks = [
        "mark-name", "mark-content", "mark-caption", "mark-person", "mark-group", "bWFyay1jb250ZW50",
    ]

    @Test(arguments: [SIGTERM, SIGKILL])
    func privateFoldersContainNoMark(_ signal: Int32) async throws {
        let stage = try await OfficialStage.start("alice", "mark-person")
        let (alice, other) = (stage.people[0], stage.people[1])
        try await stage.makeGroup("mark-group")
        let runtime = try stage.relays.folder.makeFolder("runtime")
        try await alice.mount(.attached, environment: ["XDG_RUNTIME_DIR": runtime])
        try await other.mount(.attached)
        let small = Array(String(repeating: "mark-content", count: 400).utf8)
        let large = Array(String(repeating: "mark-content", count: 60_000).utf8)
        for (number, bytes) in [small, large].enumerated() {
            let (sent, received) = ("mark-name sent \(number).bin", "mark-name received \(number).bin")
            try await alice.copy(bytes, as: sent, to: "mark-person")
            try await alice.waitForState("sent", of: sent, in: "mark-person")
            let digest = try await other.copy(bytes, as: received, to: "alice")
            try await alice.waitForFile(received, in: "mark-person")
            try await wait(until: "it can be read", within: .seconds(120)) {
                (try? await alice.read(received, in: "mark-person")) == digest
            }
            try await other.waitForFile(sent, in: "alice")
        }
        try await alice.copy(large, as: "mark-name group.bin", to: "mark-group")
        try await alice.waitForState("sent", of: "mark-name group.bin", in: "mark-group")
        // The files that the test copied into the mount contain the marks.
        _ = try await Shell.run("rm", ["-r", alice.home + "/source"])
        if signal == SIGKILL {
            try await expectNoMarks(alice, runtime, stage)
            try await alice.killDaemon()
        } else {
            _ = try await alice.leave()
        }
        try await expectNoMarks(alice, runtime, stage)
        _ = try await other.leave()
        try await stage.end()
    }

    private func expectNoMarks(
        _ alice: OfficialPerson, _ runtime: String, _ stage: OfficialStage
    ) async throws {
        try stage.relays.folder.write(Array(Self.marks.joined(separator: "\n").utf8), to: "patterns")
        let all: [String] = [alice.home + "/data", alice.home + "/cache", runtime]
        let folders = all.filter { (path: String) in access(path, F_OK) == 0 }
        #expect(folders.count >= 2, "\(folders)")
        let found = try await Shell.run(
            "grep", ["-rlaF", "-f", stage.relays.folder.path("patterns")] + folders,
            environment: ["LC_ALL": "C"])
        #expect(found.output == "" && found.ending == .code(1), "\(found.output)\(found.errors)")
        let names = try await Shell.run("find", folders + ["-name", "*mark-*"])
        #expect(names.succeeded && names.output == "", "\(names.output)")
    }
}
