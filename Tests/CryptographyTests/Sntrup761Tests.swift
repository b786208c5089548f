import Base
import Glibc
import TestSupport
import Testing

@testable import Cryptography

/// Random bytes that were written down.
private struct GivenBytes: RandomSource {
    let given: [UInt8]

    func bytes(_ count: Int) -> [UInt8] {
        precondition(count == given.count, "other random bytes than were written down")
        return given
    }
}

@Suite struct Sntrup761Tests {
    private static func expectEncapsulation(_ vector: VectorValue) throws {
        let own = try OwnSntrup761(random: GivenBytes(given: vector["input"].bytes))
        let made = try own.encapsulate(to: vector["publicKey"].bytes)
        #expect(try made.ciphertext == vector["ciphertext"].bytes)
        #expect(try made.secret.bytes == vector["secret"].bytes)
    }

    @Test func referenceCiphertextComesFromItsRandomInput() throws {
        try Self.expectEncapsulation(VectorValue.file("sntrup761")["published"])
    }

    /// Keys of zeros and ones, which no key generation makes, random bytes, and proper codes.
    @Test func anyKeyGivesWhatAnotherImplementationGives() throws {
        let vectors = try VectorValue.file("sntrup761")["random"].list
        #expect(vectors.count == 8)
        for vector in vectors { try Self.expectEncapsulation(vector) }
    }

    @Test func keysOfAnotherLengthAreRefused() {
        for count in [0, 1157, 1159] {
            #expect(throws: CryptographyError.self) {
                try OwnSntrup761().encapsulate(to: [UInt8](repeating: 1, count: count))
            }
        }
    }

    @Test func eachSecretIsAnother() throws {
        let key = try VectorValue.file("sntrup761")["published"]["publicKey"].bytes
        let (first, second) = (
            try OwnSntrup761().encapsulate(to: key), try OwnSntrup761().encapsulate(to: key)
        )
        #expect(first.ciphertext != second.ciphertext && first.secret != second.secret)
    }

    @Test func secretPolynomialsHave286CoefficientsThatAreNotZero() {
        let polynomial = UnsafeMutableBufferPointer<Int32>.allocate(capacity: SntrupPolynomial.degree)
        defer { polynomial.deallocate() }
        for _ in 0..<20 {
            SntrupPolynomial.short(from: SystemRandomSource(), into: polynomial)
            #expect(polynomial.allSatisfy { (-1...1).contains($0) })
            #expect(polynomial.count { $0 != 0 } == 286)
        }
    }

    @Test func residuesAreTheNearestOnes() {
        for number in stride(from: Int32(-8_000_000), through: 8_000_000, by: 61) {
            let residue = SntrupPolynomial.reduced(number)
            guard (-2295...2295).contains(residue), (number - residue) % 4591 == 0 else {
                Issue.record("\(number) gives \(residue)")
                return
            }
        }
    }

    @Test func networkSortsAnyCount() {
        var generator = SeededGenerator(state: 761)
        for count in Array(0...70) + [761] {
            var numbers = (0..<count).map { _ in UInt32.random(in: 0...UInt32.max, using: &generator) }
            if count > 3 { (numbers[1], numbers[2], numbers[3]) = (0, .max, numbers[0]) }
            let sorted = numbers.sorted()
            numbers.withUnsafeMutableBufferPointer { ObliviousSort.sort($0) }
            #expect(numbers == sorted)
        }
    }
}

/// The KEM of libgcrypt, where it is installed: Debian 13 has it, Debian 12 has not. `CHATFS_GCRYPT` names another
/// library.
@Suite struct GcryptSntrup761Tests {
    static let library =
        getenv("CHATFS_GCRYPT").flatMap { GcryptSntrup761(path: String(cString: $0)) }
        ?? GcryptSntrup761.installed

    @Test func aLibraryWithoutTheKEMIsNotTaken() {
        #expect(GcryptSntrup761(path: "/nonexistent/libgcrypt.so.20") == nil)
        #expect(GcryptSntrup761(path: "libc.so.6") == nil)
    }

    /// It encrypts what it decrypted once more, so it gives our secret only where each byte of ours is its own.
    @Test(.enabled(if: library != nil, "libgcrypt 1.11 or later is not installed"))
    func libgcryptDecapsulatesWhatWeEncapsulated() throws {
        let library = try #require(Self.library)
        let count = getenv("CHATFS_SNTRUP_COMPARISONS").flatMap { Int(String(cString: $0)) } ?? 20
        var (key, agreed) = (try library.generate(), 0)
        for number in 0..<count {
            if number % 100 == 99 { key = try library.generate() }
            let made = try OwnSntrup761().encapsulate(to: key.publicKey)
            if try library.decapsulate(made.ciphertext, with: key.secretKey) == made.secret { agreed += 1 }
        }
        #expect(agreed == count)
    }
}

/// Whether the time of an encapsulation tells of its secret. It asks for a machine that does nothing else, so it runs
/// where `CHATFS_SNTRUP_TIMINGS` says how often.
@Suite struct SntrupTimingTests {
    static let count = getenv("CHATFS_SNTRUP_TIMINGS").flatMap { Int(String(cString: $0)) } ?? 0

    @Test(.enabled(if: count > 0, "CHATFS_SNTRUP_TIMINGS is not set"))
    func timeOfOneSecretIsThatOfAnyOther() throws {
        let key = try VectorValue.file("sntrup761")["published"]["publicKey"].bytes
        let one = SystemRandomSource().bytes(4 * 761)
        var times: [[Double]] = [[], []]
        for number in 0..<2 * Self.count {
            let kind = number & 1 ^ Int.random(in: 0...1)
            // Drawn for both kinds, because a system call changes the caches.
            let other = SystemRandomSource().bytes(4 * 761)
            let own = OwnSntrup761(random: GivenBytes(given: (kind == 0 ? one : other).map { $0 }))
            let start = ContinuousClock.now
            _ = try own.encapsulate(to: key)
            times[kind].append(start.duration(to: .now) / .nanoseconds(1))
        }
        // Interruptions by others are in the upper tenth of both.
        let limit = (times[0] + times[1]).sorted()[(times[0].count + times[1].count) * 9 / 10]
        let kept = times.map { $0.filter { $0 < limit } }
        let statistic = Self.welch(kept[0], kept[1])
        print("sntrup761 timing: t = \(statistic), medians \(kept.map { $0.sorted()[$0.count / 2] }) ns")
        #expect(abs(statistic) < 5)
    }

    private static func welch(_ first: [Double], _ second: [Double]) -> Double {
        func moments(_ values: [Double]) -> (mean: Double, error: Double) {
            let count = Double(values.count)
            let mean = values.reduce(0, +) / count
            let variance = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / (count - 1)
            return (mean, variance / count)
        }
        let (one, other) = (moments(first), moments(second))
        return (one.mean - other.mean) / (one.error + other.error).squareRoot()
    }
}
