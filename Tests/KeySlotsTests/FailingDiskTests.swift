import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import KeySlots

/// The disk fails at one of its synchronizations.
@Suite("Key files on a failing disk")
struct FailingDiskTests {
    private let folder: TemporaryFolder
    private let path: String
    private let dataKey = DataKey.random()

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("keys")
    }

    private func slots(_ words: String = "first") throws -> KeySlots {
        try KeySlots(dataKey, for: .words(words), at: Timestamp(seconds: 1), cost: cheap)
    }

    /// - Parameter moment: 1 for the file itself, 2 for its folder.
    private func file(failingAt moment: Int) -> KeySlotsFile {
        let count = Lock(0)
        return KeySlotsFile(path: path) { (file) throws(SystemError) in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            if number == moment { throw SystemError(code: EIO, operation: "write a file to disk") }
            try file.synchronise()
        }
    }

    @Test("a failed creation leaves no file", arguments: [1, 2])
    func creating(moment: Int) throws {
        let error = #expect(throws: KeySlotsError.self) { try file(failingAt: moment).create(slots()) }
        #expect(error?.code == .file)
        #expect((error?.cause as? SystemError)?.code == EIO)
        #expect(try folder.names() == [])
        let made = try slots("second")
        try file(failingAt: 0).create(made)
        #expect(try KeySlotsFile(path: path).read() == made)
    }

    @Test("a failed creation keeps an existing file", arguments: [0, 1, 2])
    func existing(moment: Int) throws {
        let first = try slots()
        try KeySlotsFile(path: path).create(first)
        #expect(throws: KeySlotsError.self) { try file(failingAt: moment).create(slots("second")) }
        #expect(try KeySlotsFile(path: path).read() == first)
        #expect(try folder.names() == ["keys"])
    }

    @Test("a failed change leaves the old or the new file", arguments: [1, 2])
    func changing(moment: Int) throws {
        try KeySlotsFile(path: path).create(slots())
        let error = #expect(throws: KeySlotsError.self) {
            try file(failingAt: moment).change { (slots: inout KeySlots) throws(KeySlotsError) in
                _ = try slots.add(.words("second"), for: dataKey, at: Timestamp(seconds: 2), cost: cheap)
            }
        }
        #expect(error?.code == .file)
        let read = try KeySlotsFile(path: path).read()
        #expect(read.slots.count == moment)
        #expect(try read.unlock(with: .words("first")).dataKey.bytes == dataKey.bytes)
        #expect(try folder.names() == ["keys"])
    }

    @Test("an empty change writes nothing")
    func unchanged() throws {
        try KeySlotsFile(path: path).create(slots())
        let inode = try OpenFile(path, flags: O_RDONLY).status().st_ino
        let count = try file(failingAt: 1).change { (slots: inout KeySlots) throws(KeySlotsError) in
            slots.slots.count
        }
        #expect(count == 1)
        #expect(try OpenFile(path, flags: O_RDONLY).status().st_ino == inode)
    }

    @Test("change throws the caller's errors")
    func wrapping() throws {
        struct Own: Error, Equatable { var code: KeySlotsErrorCode? }
        func change(
            _ file: KeySlotsFile, _ body: (inout KeySlots) throws(Own) -> Void = { _ in }
        ) -> Own? {
            do throws(Own) {
                try file.change(wrapping: { Own(code: $0.code) }, body)
                return nil
            } catch { return error }
        }
        #expect(change(KeySlotsFile(path: path)) == Own(code: .missing))
        #expect(change(KeySlotsFile(path: path + "/none/keys")) == Own(code: .missing))
        try KeySlotsFile(path: path).create(slots())
        #expect(
            change(KeySlotsFile(path: path)) { (_) throws(Own) in throw Own(code: nil) } == Own(code: nil))
        #expect(
            change(file(failingAt: 1)) { slots in
                _ = try? slots.add(.words("x"), for: self.dataKey, at: Timestamp(seconds: 2), cost: cheap)
            } == Own(code: .file))
        try folder.write([1, 2, 3], to: "keys")
        #expect(change(KeySlotsFile(path: path)) == Own(code: .notKeySlots))
    }

    @Test("bare names work and links are not followed")
    func names() throws {
        #expect(throws: KeySlotsError.self) { try KeySlotsFile(path: "chatfs-no-such-file-of-keys").read() }
        let elsewhere = folder.path("elsewhere")
        try KeySlotsFile(path: elsewhere).create(slots())
        try #require(symlink("elsewhere", path) == 0)
        let read = #expect(throws: KeySlotsError.self) { try KeySlotsFile(path: path).read() }
        #expect((read?.cause as? SystemError)?.code == ELOOP)
        let made = #expect(throws: KeySlotsError.self) { try KeySlotsFile(path: path).create(slots()) }
        #expect(made?.code == .exists)
        #expect(try KeySlotsFile(path: elsewhere).read().slots.count == 1)
    }
}
