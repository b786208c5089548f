import Base
import Cryptography
import Glibc
import TestSupport
import Testing

@testable import SealedPages

/// Single records in memory: with any change of bytes or place, they do not open.
///
/// `CHATFS_SEALED_DAMAGES` sets the number of changes.
@Suite struct RecordDamageTests {
    private let key = SecretBytes(randomCount: 32)
    private static let count: Int = {
        guard let text = getenv("CHATFS_SEALED_DAMAGES") else { return 20_000 }
        return Int(String(cString: text)) ?? 20_000
    }()

    private static func log(_ word: UInt64) -> LogIdentity {
        withUnsafeBytes(of: (word, word &* 3, word &* 5)) { LogIdentity($0.baseAddress!) }
    }

    private static let logs = [LogIdentity.none, log(1), log(2)]

    @Test func changedBitsAndPlacesAreDetected() throws {
        let cipher = RecordCipher(key: key)
        let other = RecordCipher(key: SecretBytes(randomCount: 32))
        var random = SeededGenerator(state: 4)
        let lengths: [RecordPlace.Kind: Int] = [
            .page: 4056, .framePage: 4056, .frameHeader: 24, .logHeader: 56, .checkpoint: 32,
        ]
        var records: [(place: RecordPlace, plain: [UInt8], sealed: [UInt8])] = []
        for number in 1...8 as ClosedRange<UInt64> {
            for kind in RecordPlace.Kind.allCases {
                let place = RecordPlace(kind: kind, number: number, log: Self.logs[Int(number) % 3])
                let plain = (0..<lengths[kind]!).map { _ in UInt8.random(in: 0...255, using: &random) }
                records.append((place, plain, Self.seal(plain, place, cipher)))
            }
        }
        for record in records {
            #expect(Self.open(record.sealed, record.place, cipher) == record.plain)
            #expect(Self.open(record.sealed, record.place, other) == nil)
        }
        var unnoticed = 0
        for _ in 0..<Self.count {
            let (one, two) = (records.randomElement(using: &random)!, records.randomElement(using: &random)!)
            if Bool.random(using: &random) {
                var damaged = one.sealed
                damaged[Int.random(in: 0..<damaged.count, using: &random)] ^=
                    1 << UInt8.random(in: 0..<8, using: &random)
                if Self.open(damaged, one.place, cipher) != nil { unnoticed += 1 }
            } else if one.place.kind != two.place.kind || one.place.number != two.place.number {
                if Self.open(one.sealed, two.place, cipher) != nil { unnoticed += 1 }
            }
        }
        #expect(unnoticed == 0)
        for log in Self.logs where log != records[0].place.log {
            let place = RecordPlace(kind: records[0].place.kind, number: records[0].place.number, log: log)
            #expect(Self.open(records[0].sealed, place, cipher) == nil)
        }
    }

    @Test func equalContentSealsDifferently() {
        let cipher = RecordCipher(key: key)
        let place = RecordPlace(kind: .page, number: 1)
        let sealed = (0..<1000).map { _ in Self.seal([UInt8](repeating: 0, count: 24), place, cipher) }
        #expect(Set(sealed.map { $0[24..<48] }).count == 1000)
        #expect(Set(sealed.map { $0[..<24] }).count == 1000)
    }

    /// Output that is not authentic is withheld.
    @Test func damagedRecordLeavesOnlyZeros() {
        let cipher = RecordCipher(key: key)
        let place = RecordPlace(kind: .page, number: 1)
        var sealed = Self.seal([UInt8](repeating: 7, count: 4056), place, cipher)
        sealed[4095] ^= 1
        var plain = [UInt8](repeating: 1, count: 4056)
        #expect(!sealed.withUnsafeBytes { cipher.open($0, as: place, into: &plain) })
        #expect(plain.allSatisfy { $0 == 0 })
    }

    @Test func tooShortRecordsAreRejected() {
        let cipher = RecordCipher(key: key)
        for count in 0..<RecordCipher.overhead {
            #expect(
                Self.open([UInt8](repeating: 0, count: count), RecordPlace(kind: .page, number: 1), cipher)
                    == nil)
        }
    }

    private static func seal(_ plain: [UInt8], _ place: RecordPlace, _ cipher: RecordCipher) -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: plain.count + RecordCipher.overhead)
        let done = plain.withUnsafeBytes { cipher.seal($0, as: place, into: &sealed) }
        #expect(done)
        return sealed
    }

    private static func open(_ sealed: [UInt8], _ place: RecordPlace, _ cipher: RecordCipher) -> [UInt8]? {
        var plain = [UInt8](repeating: 0, count: max(0, sealed.count - RecordCipher.overhead))
        return sealed.withUnsafeBytes { cipher.open($0, as: place, into: &plain) } ? plain : nil
    }
}
