import Glibc
import Posix
import TestSupport
import Testing

/// Folders copied in with `--folders archive` into other places than a direct chat, and during outages.
@Suite("Pasted folders in groups, links and outages", .serialized)
struct PastedFolderPlacesTests {
    private static let archiving = ["--folders", "archive", "--quiet-time", "200ms"]

    private func shell(_ script: String, _ mounts: TwoMounts) async throws {
        let outcome = try await Shell.script(
            "set -e\n" + script, folder: mounts.folder.path, environment: ["HOME": mounts.folder.path],
            limit: .seconds(60))
        #expect(outcome.succeeded, "\(script): \(outcome.output)\(outcome.errors)")
    }

    private func makeHoliday(_ mounts: TwoMounts, size: Int = 300_000) throws {
        for folder in ["Holiday", "Holiday/second day"] { mkdir(mounts.path(folder), 0o755) }
        try mounts.folder.write(TwoMounts.bytes(size, seed: 1), to: "Holiday/beach.jpg")
        try mounts.folder.write(TwoMounts.bytes(70, seed: 2), to: "Holiday/second day/words.txt")
    }

    private func expectHoliday(in archive: String, _ mounts: TwoMounts) async throws {
        try await shell(
            """
            rm -rf out got.zip && mkdir out && cp '\(archive)' got.zip && unzip -q got.zip -d out
            diff -r out/Holiday Holiday
            """, mounts)
    }

    @Test("each member of a group gets one archive")
    func group() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.run(["profile", "create", "carol", "--relay", mounts.relayAddress])
        try await mounts.run(["group", "create", "team", "alice", "bob", "carol"])
        for name in ["bob", "carol"] { try await mounts.mount(name) }
        try await mounts.mount("alice", Self.archiving)
        try makeHoliday(mounts)
        try await shell("cp -r Holiday alice/team/", mounts)
        for name in ["bob", "carol"] {
            try await mounts.waitForFile("\(name)/team/Holiday.zip")
            try await expectHoliday(in: "\(name)/team/Holiday.zip", mounts)
        }
        try await wait(until: "the folder has become its archive") {
            try mounts.folder.names(in: "alice/team") == ["Holiday.zip"]
        }
    }

    @Test("an uploaded archive's link gives all files")
    func links() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.mount("alice", Self.archiving)
        try makeHoliday(mounts)
        try await shell("cp -r Holiday alice/Links/", mounts)
        try await mounts.waitForFile("alice/Links/Holiday.zip")
        try await mounts.waitForState("sent", of: "alice/Links/Holiday.zip")
        let link = try #require(
            try ExtendedAttribute.text("user.chatfs.link", of: mounts.path("alice/Links/Holiday.zip")))
        #expect(
            try mounts.folder.names(in: "alice/Links").sorted() == ["Holiday.zip", "Holiday.zip.url"])
        let received = try await ChatFSProcess.run(
            ["file", "receive", link, "--out", mounts.path("received.zip")])
        #expect(received.succeeded, "\(received.errors)")
        try await expectHoliday(in: "received.zip", mounts)
    }

    @Test("an archive waits for its relay, sent once")
    func away() async throws {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount("alice", Self.archiving)
        try makeHoliday(mounts, size: 1_000_000)
        mounts.relay.send(SIGKILL)
        _ = try await mounts.relay.ending()
        try await shell("cp -r Holiday alice/bob/", mounts)
        try await mounts.waitForFile("alice/bob/Holiday.zip")
        try await wait(until: "the archive has replaced the folder") {
            try mounts.folder.names(in: "alice/bob") == ["Holiday.zip"]
        }
        try await expectHoliday(in: "alice/bob/Holiday.zip", mounts)
        try await mounts.startRelay()
        try await mounts.waitForState("sent", of: "alice/bob/Holiday.zip")
        try await mounts.waitForFile("bob/alice/Holiday.zip")
        try await expectHoliday(in: "bob/alice/Holiday.zip", mounts)
        #expect(try mounts.folder.names(in: "bob/alice") == ["Holiday.zip"])
    }

    @Test("without disk space the folder waits unchanged")
    func full() async throws {
        let folder = try TemporaryFolder()
        let disk = try await SmallDisk(at: try folder.makeFolder("data"), size: "24m")
        let mounts = try await TwoMounts.start(in: folder, mounting: ["bob"])
        try await mounts.mount("alice", Self.archiving)
        try makeHoliday(mounts, size: 4_000_000)
        // Nothing is archived during the write.
        let open = try await RunningProcess.start(
            ChildProcess.Settings(
                "/bin/sh",
                [
                    "-c",
                    "cp -r \"$0\" \"$1\" && exec 3>\"$1/Holiday/late\" && echo ready && read line && echo x >&3",
                    mounts.path("Holiday"), mounts.path("alice/bob"),
                ]))
        try await open.line("the copy") { $0 == "ready" }
        let alice = try mounts.daemon("alice").processIdentifier
        if disk.isLimit {
            try await disk.limit(to: 1_000_000, for: [alice])
        } else {
            try await disk.fill(leaving: 1_500_000)
        }
        open.send(SIGKILL)
        _ = try await open.ending()
        unlink(mounts.path("alice/bob/Holiday/late"))
        // Time for several failing retries, without effects.
        try await Task.sleep(for: .seconds(4))
        #expect(try mounts.folder.names(in: "bob/alice") == [])
        #expect(kill(alice, 0) == 0)
        try await shell("diff -r Holiday alice/bob/Holiday", mounts)
        try await disk.free()
        // Within a minute, like everything that waits for space.
        try await shell("touch Holiday/again && cp Holiday/again alice/bob/Holiday/", mounts)
        try await mounts.waitForFile("bob/alice/Holiday.zip")
        try await expectHoliday(in: "bob/alice/Holiday.zip", mounts)
    }
}
