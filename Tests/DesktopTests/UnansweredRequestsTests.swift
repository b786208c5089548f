import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

@Suite("Unanswered requests")
struct UnansweredRequestsTests {
    private static let (first, second) = (
        String(repeating: "1a", count: 16), String(repeating: "2b", count: 16)
    )
    private static let mark = String(repeating: "c3", count: 32)
    private let folder: TemporaryFolder
    private let requests: UnansweredRequests

    init() throws {
        folder = try TemporaryFolder()
        requests = try UnansweredRequests(profileFolder: folder.path, key: nil)
    }

    private func age(_ name: String, seconds: Int) {
        var times = [
            timespec(tv_sec: time(nil) - seconds, tv_nsec: 0),
            timespec(tv_sec: time(nil) - seconds, tv_nsec: 0),
        ]
        utimensat(AT_FDCWD, folder.path("unanswered/" + name), &times, 0)
    }

    @Test("repetitions share the first id across processes")
    func repetition() throws {
        #expect(try requests.begin(Self.mark, id: Self.first) == Self.first)
        let other = try UnansweredRequests(profileFolder: folder.path, key: nil)
        #expect(try other.begin(Self.mark, id: Self.second) == Self.first)
        #expect(try folder.names(in: "unanswered") == [Self.mark])
        var status = stat()
        #expect(
            lstat(folder.path("unanswered/" + Self.mark), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test("answered and different requests get new ids")
    func answered() throws {
        _ = try requests.begin(Self.mark, id: Self.first)
        let other = String(repeating: "d4", count: 32)
        #expect(try requests.begin(other, id: Self.second) == Self.second)
        requests.end(Self.mark)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.second)
    }

    @Test("a forced new request replaces the old")
    func anew() throws {
        _ = try requests.begin(Self.mark, id: Self.first)
        #expect(try requests.begin(Self.mark, id: Self.second, startsAnew: true) == Self.second)
        #expect(try requests.begin(Self.mark, id: Self.first) == Self.second)
    }

    private func requests(in boot: String, at hours: Int64) throws -> UnansweredRequests {
        try UnansweredRequests(
            profileFolder: folder.path, key: nil, moment: { BootTime(boot: boot, seconds: hours * 3600) })
    }

    @Test("requests are forgotten after a day", arguments: ["a boot", "the next"])
    func forgotten(boot: String) throws {
        _ = try requests(in: "a boot", at: 2).begin(Self.mark, id: Self.first)
        age(Self.mark, seconds: 23 * 3600)
        #expect(try requests(in: boot, at: 27).begin(Self.mark, id: Self.second) == Self.first)
        age(Self.mark, seconds: 25 * 3600)
        #expect(try requests(in: boot, at: 27).begin(Self.mark, id: Self.second) == Self.second)
    }

    @Test("notes without boot time expire by the clock")
    func withoutMoment() throws {
        try folder.write(Array(Self.first.utf8), to: "unanswered/" + Self.mark)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.first)
        age(Self.mark, seconds: 25 * 3600)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.second)
    }

    @Test("a clock set ahead ages no request")
    func clockSet() throws {
        _ = try requests.begin(Self.mark, id: Self.first)
        age(Self.mark, seconds: 48 * 3600)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.first)
    }

    @Test("an unreadable note blocks sending")
    func unreadable() throws {
        _ = try requests.begin(Self.mark, id: Self.first)
        let note = folder.path("unanswered/" + Self.mark)
        // A directory in its place, because root can open any file.
        try check("move it") { rename(note, folder.path("kept")) }
        try check("make a socket") { mknod(note, S_IFSOCK | 0o600, 0) }
        #expect(throws: DesktopError.self) { try requests.begin(Self.mark, id: Self.second) }
        #expect(try folder.names(in: "unanswered") == [Self.mark])
        try check("move it back") { rename(folder.path("kept"), note) }
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.first)
    }

    @Test("a damaged note is ignored", arguments: ["", "zz", "1a1a", String(repeating: "1a", count: 40)])
    func damaged(text: String) throws {
        try folder.write(Array(text.utf8), to: "unanswered/" + Self.mark)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.second)
        #expect(try requests.begin(Self.mark, id: Self.first) == Self.second)
    }

    @Test("concurrent requests share one id")
    func atOnce() async throws {
        let path = folder.path
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 10..<30 {
                group.addTask {
                    try await ThreadPool.shared.run {
                        try UnansweredRequests(profileFolder: path, key: nil).begin(
                            Self.mark, id: String(repeating: "\(number)", count: 16))
                    }
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
    }

    @Test("names depend on the key")
    func keyed() throws {
        let key = UnansweredRequests.key(from: SecretBytes([UInt8](repeating: 7, count: 32)))
        let other = UnansweredRequests.key(from: SecretBytes([UInt8](repeating: 8, count: 32)))
        let keyed = try UnansweredRequests(profileFolder: folder.path, key: key)
        #expect(try keyed.begin(Self.mark, id: Self.first) == Self.first)
        #expect(try folder.names(in: "unanswered").allSatisfy { !$0.contains(Self.mark) })
        #expect(
            try UnansweredRequests(profileFolder: folder.path, key: other).begin(Self.mark, id: Self.second)
                == Self.second)
        #expect(try keyed.begin(Self.mark, id: Self.second) == Self.first)
        keyed.end(Self.mark)
        #expect(try folder.names(in: "unanswered").count == 1)
    }

    @Test("a full disk loses no plain note")
    func encryptedOnAFullDisk() async throws {
        // A filesystem of its own needs root.
        guard geteuid() == 0 else { return }
        let disk = try folder.makeFolder("disk")
        // Inodes for the root, the folder and the note, and none for a second note.
        let options = ["-t", "tmpfs", "-o", "size=1m,nr_inodes=4,mode=700", "tmpfs", disk]
        let mounted = try await Shell.run("mount", options)
        try #require(mounted.succeeded, "\(mounted.errors)")
        defer { umount2(disk, Int32(MNT_DETACH)) }
        let plain = try UnansweredRequests(profileFolder: disk, key: nil)
        #expect(try plain.begin(Self.mark, id: Self.first) == Self.first)
        try folder.write([1], to: "disk/filler")
        let key = UnansweredRequests.key(from: SecretBytes([UInt8](repeating: 7, count: 32)))
        let keyed = try UnansweredRequests(profileFolder: disk, key: key)
        #expect(throws: DesktopError.self) { try keyed.begin(Self.mark, id: Self.second) }
        #expect(unlink(disk + "/filler") == 0)
        #expect(try keyed.begin(Self.mark, id: Self.second) == Self.first)
    }

    @Test("encryption renames plain notes and keeps ids")
    func encryptedMeanwhile() throws {
        _ = try requests.begin(Self.mark, id: Self.first)
        try folder.write([1], to: "unanswered/." + Self.mark + ".killed")
        let key = UnansweredRequests.key(from: SecretBytes([UInt8](repeating: 7, count: 32)))
        let keyed = try UnansweredRequests(profileFolder: folder.path, key: key)
        try keyed.tidy()
        let names = try folder.names(in: "unanswered")
        #expect(names.count == 1 && !names.contains { $0.contains(Self.mark) })
        #expect(try keyed.begin(Self.mark, id: Self.second) == Self.first)
    }
}
