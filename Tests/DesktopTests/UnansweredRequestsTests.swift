import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Desktop

@Suite("A request whose answer is missing keeps its identity")
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

    @Test("a repetition has the id of the first, also from another process")
    func repetition() throws {
        #expect(try requests.begin(Self.mark, id: Self.first) == Self.first)
        let other = try UnansweredRequests(profileFolder: folder.path, key: nil)
        #expect(try other.begin(Self.mark, id: Self.second) == Self.first)
        #expect(try folder.names(in: "unanswered") == [Self.mark])
        var status = stat()
        #expect(
            lstat(folder.path("unanswered/" + Self.mark), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test("what was answered, and what is something else, is a request of its own")
    func answered() throws {
        _ = try requests.begin(Self.mark, id: Self.first)
        let other = String(repeating: "d4", count: 32)
        #expect(try requests.begin(other, id: Self.second) == Self.second)
        requests.end(Self.mark)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.second)
    }

    @Test("who says so starts anew, and that is the request from then on")
    func anew() throws {
        _ = try requests.begin(Self.mark, id: Self.first)
        #expect(try requests.begin(Self.mark, id: Self.second, startsAnew: true) == Self.second)
        #expect(try requests.begin(Self.mark, id: Self.first) == Self.second)
    }

    private func requests(in boot: String, at hours: Int64) throws -> UnansweredRequests {
        try UnansweredRequests(
            profileFolder: folder.path, key: nil, moment: { BootMoment(boot: boot, seconds: hours * 3600) })
    }

    @Test("it is forgotten after a day, not before", arguments: ["a boot", "the next"])
    func forgotten(boot: String) throws {
        _ = try requests(in: "a boot", at: 2).begin(Self.mark, id: Self.first)
        age(Self.mark, seconds: 23 * 3600)
        #expect(try requests(in: boot, at: 27).begin(Self.mark, id: Self.second) == Self.first)
        age(Self.mark, seconds: 25 * 3600)
        #expect(try requests(in: boot, at: 27).begin(Self.mark, id: Self.second) == Self.second)
    }

    @Test("one of an earlier version, which does not say when it was, is forgotten by the clock")
    func withoutMoment() throws {
        try folder.write(Array(Self.first.utf8), to: "unanswered/" + Self.mark)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.first)
        age(Self.mark, seconds: 25 * 3600)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.second)
    }

    @Test("a clock that is set ahead makes it no older")
    func clockSet() throws {
        _ = try requests.begin(Self.mark, id: Self.first)
        age(Self.mark, seconds: 48 * 3600)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.first)
    }

    @Test("one that cannot be read at present stays, and nothing is sent under another id")
    func unreadable() throws {
        _ = try requests.begin(Self.mark, id: Self.first)
        let note = folder.path("unanswered/" + Self.mark)
        // What cannot be opened, whoever asks: root may read all files.
        try check("move it") { rename(note, folder.path("kept")) }
        try check("make a socket") { mknod(note, S_IFSOCK | 0o600, 0) }
        #expect(throws: DesktopError.self) { try requests.begin(Self.mark, id: Self.second) }
        #expect(try folder.names(in: "unanswered") == [Self.mark])
        try check("move it back") { rename(folder.path("kept"), note) }
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.first)
    }

    @Test("a damaged note is none", arguments: ["", "zz", "1a1a", String(repeating: "1a", count: 40)])
    func damaged(text: String) throws {
        try folder.write(Array(text.utf8), to: "unanswered/" + Self.mark)
        #expect(try requests.begin(Self.mark, id: Self.second) == Self.second)
        #expect(try requests.begin(Self.mark, id: Self.first) == Self.second)
    }

    @Test("of many at once all have one id")
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

    @Test("with a key the mark is in no name, and only the same key finds it")
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

    @Test("a disk on which nothing gets a new name loses no note of the time before the data was encrypted")
    func encryptedOnAFullDisk() async throws {
        // A small filesystem of its own needs root.
        guard geteuid() == 0 else { return }
        let disk = try folder.makeFolder("disk")
        // So many names: of itself, the folder, the note while it has two, and nothing else.
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

    @Test("what was noted before the data was encrypted loses its plain name and keeps its identity")
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
