import Base
import Cryptography
import Glibc
import KeySlots
import Posix
import TestSupport
import Testing

@testable import Unlocking

/// Notes about unclaimed codes, and other files under such names.
@Suite("Notes about unclaimed codes")
struct UnconfirmedNoteTests {
    private let folder: TemporaryFolder
    private let keyed: KeyedFolder
    private let dataKey: SecretBytes

    init() throws {
        folder = try TemporaryFolder()
        keyed = KeyedFolder(path: folder.path, database: "chatfs.db")
        dataKey = try #require(try keyed.make(with: Ways(named: .someKey)) {}).dataKey
    }

    private func addCode() throws -> KeySlot {
        try keyed.add(.recoveryCode(.random()), for: dataKey)
        return try #require(try keyed.slots().slots.last)
    }

    private func notes() throws -> [String] {
        try folder.names().filter { $0.hasPrefix("keys.unconfirmed-") }
    }

    private func kinds() throws -> [KeySlot.Kind] { try keyed.slots().slots.map(\.kind) }

    @Test("an unclaimed code's slot is removed, a shown one stays")
    func shown() throws {
        let slot = try addCode()
        do {
            let note = try UnconfirmedSlot(of: slot, in: folder.path)
            // Its creator has it locked.
            keyed.removeUnconfirmed()
            #expect(try notes().count == 1 && kinds() == [.key, .recoveryCode])
            try note.noteShown()
        }
        keyed.removeUnconfirmed()
        #expect(try notes() == [] && kinds() == [.key, .recoveryCode])
        do {
            let note = try UnconfirmedSlot(of: slot, in: folder.path)
            try note.noteShown()
            try note.noteUnseen()
        }
        keyed.removeUnconfirmed()
        #expect(try notes() == [] && kinds() == [.key])
    }

    @Test("a note of another slot removes only itself")
    func others() throws {
        let slot = try addCode()
        let first = try #require(try keyed.slots().slots.first)
        let strange: [(String, [UInt8])] = [
            ("keys.unconfirmed-\(slot.number + 7)", [UInt8(ascii: "u")] + slot.identity),
            ("keys.unconfirmed-\(slot.number)", [UInt8(ascii: "u")] + slot.identity.reversed()),
            ("keys.unconfirmed-\(slot.number)", [UInt8(ascii: "u")] + slot.identity.dropLast()),
            ("keys.unconfirmed-\(slot.number)", []), ("keys.unconfirmed-\(slot.number)", [UInt8(ascii: "u")]),
            // Not a code, but the way that unlocks.
            ("keys.unconfirmed-\(first.number)", [UInt8(ascii: "u")] + first.identity),
            // Of an earlier version: a user may have it.
            ("keys.unconfirmed-\(slot.number)", [UInt8(ascii: "s")] + slot.identity),
        ]
        for (name, content) in strange {
            try folder.write(content, to: name)
            keyed.removeUnconfirmed()
            #expect(try notes() == [], "\(name)")
            #expect(try kinds() == [.key, .recoveryCode], "\(name)")
        }
    }

    @Test("foreign files with such names stay")
    func foreign() throws {
        let names = [
            "keys.unconfirmed-", "keys.unconfirmed-x", "keys.unconfirmed--1", "keys.unconfirmed-4294967296",
            "keys.unconfirmed-1.new",
        ]
        for name in names { try folder.write([UInt8(ascii: "u")], to: name) }
        _ = try folder.makeFolder("keys.unconfirmed-77")
        try #require(symlink("keys", folder.path("keys.unconfirmed-78")) == 0)
        let before = try folder.read("keys")
        #expect(try keyed.unlock(with: Ways(named: .someKey)).isEqual(to: dataKey))
        #expect(try notes().sorted() == (names + ["keys.unconfirmed-77", "keys.unconfirmed-78"]).sorted())
        #expect(try folder.read("keys") == before)
    }

    @Test("a note of damaged keys is removed")
    func damaged() throws {
        let slot = try addCode()
        try folder.write([UInt8(ascii: "u")] + slot.identity, to: "keys.unconfirmed-\(slot.number)")
        var bytes = try folder.read("keys")
        bytes[100] ^= 1
        try folder.write(bytes, to: "keys")
        let error = #expect(throws: UnlockingError.self) { try keyed.unlock(with: Ways(named: .someKey)) }
        #expect(error?.code == .keys)
        #expect(try notes() == [])
    }

    @Test("a failed handover keeps the earlier code")
    func refused() throws {
        struct NoPrinter: Error {}
        let codes = Lock<[RecoveryCode]>([])
        try keyed.newRecoveryCode(for: dataKey) { code in codes.withLock { $0.append(code) } }
        #expect(throws: NoPrinter.self) {
            try keyed.newRecoveryCode(for: dataKey) { code in
                codes.withLock { $0.append(code) }
                throw NoPrinter()
            }
        }
        let given = codes.withLock { $0 }
        #expect(try keyed.unlock(with: Ways(named: .recoveryCode(given[0]))).isEqual(to: dataKey))
        let error = #expect(throws: UnlockingError.self) {
            try keyed.unlock(with: Ways(named: .recoveryCode(given[1])))
        }
        #expect(error?.code == .wrongSecret)
        #expect(try notes() == [] && kinds() == [.key, .recoveryCode])
        try keyed.newRecoveryCode(for: dataKey) { code in codes.withLock { $0.append(code) } }
        #expect(throws: UnlockingError.self) { try keyed.unlock(with: Ways(named: .recoveryCode(given[0]))) }
    }
}
