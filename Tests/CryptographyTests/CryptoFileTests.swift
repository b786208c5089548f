import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

@Suite struct CryptoFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func write(_ bytes: [UInt8], to name: String) throws -> String {
        try folder.write(bytes, to: name)
    }

    private func read(_ path: String) throws -> [UInt8] {
        try OpenFile(path, flags: O_RDONLY).readAll(limit: 16 << 20)
    }

    private func encrypted(_ plaintext: [UInt8], pieces: Int = 1 << 20) throws -> [UInt8] {
        let path = try write([], to: "encrypted-\(plaintext.count)-\(pieces)")
        let writer = try CryptoFileWriter(
            file: OpenFile(path, flags: O_RDWR), arguments: Vectors.arguments)
        var start = 0
        while start < plaintext.count {
            let end = min(start + pieces, plaintext.count)
            try writer.append(Array(plaintext[start..<end]))
            start = end
        }
        #expect(try writer.finish() == UInt64(plaintext.count))
        return try read(path)
    }

    private func reader(of bytes: [UInt8]) throws -> CryptoFileReader {
        let path = try write(bytes, to: "reader")
        return try CryptoFileReader(file: OpenFile(path, flags: O_RDONLY), arguments: Vectors.arguments)
    }

    @Test(arguments: ["c11.txt", "c70k.bin"])
    func officialFilesAreReadAndWrittenIdentically(name: String) throws {
        let resources = Resources.cryptofile
        let source = "\(resources)/\(name)"
        let json = String(decoding: try read(source + ".fileSource.json"), as: UTF8.self)
        let arguments = try FileArguments(parsing: json)
        let plaintext = try read(source + ".plain")
        let out = folder.path("out")
        try CryptoFile.decrypt(from: source + ".encrypted", to: out, arguments: arguments)
        #expect(try read(out) == plaintext)

        let again = try write([], to: "again")
        let writer = try CryptoFileWriter(file: OpenFile(again, flags: O_RDWR), arguments: arguments)
        try writer.append(plaintext)
        try writer.finish()
        #expect(try read(again) == read(source + ".encrypted"))
    }

    @Test func writtenFileMatchesVector() throws {
        #expect(
            Hexadecimal.encode(try encrypted(Array("hello simplex".utf8)))
                == "73f2ee5f3ce1212140781a56690f5061c09c507923b56fea9fa486fb38")
        #expect(
            Hexadecimal.encode(SHA256.hash(try encrypted([UInt8](repeating: 0, count: 200))))
                == "94159de5795b5c05f27ef50a49d083c9962db167cea05f6291f7d69db0f32278")
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 600_001])
    func filesOfAnySizeRoundTrip(size: Int) throws {
        let plaintext = Vectors.bytes(size)
        let file = try encrypted(plaintext, pieces: 100_003)
        #expect(file.count == size + 16)
        let reader = try reader(of: file)
        #expect(reader.size == UInt64(size))
        var bytes: [UInt8] = []
        try reader.decrypt { bytes += $0 }
        #expect(bytes == plaintext)
    }

    @Test(arguments: [0, 1, 31, 32, 33, 63, 64, 100, 500, 4096, 65_535, 199_999, 200_000, 200_001])
    func readsAtAnyOffsetAfterVerification(offset: Int) throws {
        let plaintext = Vectors.bytes(200_000)
        let reader = try reader(of: encrypted(plaintext))
        try reader.verify()
        for length in [0, 1, 32, 63, 64, 65, 4096, 300_000] {
            var buffer = [UInt8](repeating: 0xee, count: length)
            let count = try buffer.withUnsafeMutableBytes { try reader.read(into: $0, at: UInt64(offset)) }
            let expected = plaintext.dropFirst(offset).prefix(length)
            #expect(count == expected.count)
            #expect(Array(buffer[..<count]) == Array(expected))
        }
    }

    @Test func readsFailBeforeVerification() throws {
        let reader = try reader(of: encrypted(Vectors.bytes(100)))
        var buffer = [UInt8](repeating: 0, count: 10)
        #expect(throws: CryptographyError.self) {
            try buffer.withUnsafeMutableBytes { try reader.read(into: $0, at: 0) }
        }
        #expect(buffer == [UInt8](repeating: 0, count: 10))
        #expect(!reader.isVerified)
    }

    @Test(arguments: [0, 1, 65_536, 200_001])
    func checkDuringReadsEqualsVerify(size: Int) throws {
        let plaintext = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let whole = try encrypted(plaintext)
        /// Reads from each offset to the next, and from the last to the end.
        func read(_ bytes: [UInt8], from places: [Int]) throws -> [UInt8] {
            let reader = try reader(of: bytes)
            var check = reader.beginCheck()
            var found = [UInt8](repeating: 0, count: size)
            for (index, place) in places.enumerated() {
                let end = index + 1 < places.count ? max(places[index + 1], place) : size
                let count = try found.withUnsafeMutableBytes {
                    try reader.read(
                        into: UnsafeMutableRawBufferPointer(rebasing: $0[place..<end]), at: UInt64(place),
                        checking: &check)
                }
                #expect(count == end - place)
            }
            try reader.finish(check)
            return found
        }
        let places = [[0], [0, size / 3, size / 2], [size / 2, 0, size / 4], [0, size / 2, size / 2]]
        for places in places {
            // Reads in another order leave gaps, so compare only sequential ones.
            let found = try read(whole, from: places)
            if places == places.sorted() { #expect(found == plaintext) }
            var flipped = whole
            flipped[whole.count / 2] ^= 1
            #expect(throws: CryptographyError.self) { try read(flipped, from: places) }
        }
    }

    @Test func everyTruncationIsDetected() throws {
        let file = try encrypted(Vectors.bytes(300))
        for length in 0..<file.count {
            #expect(throws: CryptographyError.self) { try reader(of: Array(file[..<length])).verify() }
        }
        #expect(throws: CryptographyError.self) { try reader(of: file + [0]).verify() }
    }

    @Test func everyFlippedByteIsDetected() throws {
        let file = try encrypted(Vectors.bytes(300))
        for index in file.indices {
            var damaged = file
            damaged[index] ^= 0x40
            let reader = try reader(of: damaged)
            #expect(throws: CryptographyError.self) { try reader.verify() }
            #expect(!reader.isVerified)
        }
    }

    @Test func decryptionNeedsTheRightArguments() throws {
        let plaintext = Vectors.bytes(500_000)
        let source = try write(plaintext, to: "source")
        let arguments = try CryptoFile.encrypt(from: source, to: folder.path("encrypted"))
        let other = try CryptoFile.encrypt(from: source, to: folder.path("other"))
        #expect(arguments != other)
        let out = folder.path("out")
        try CryptoFile.decrypt(from: folder.path("encrypted"), to: out, arguments: arguments)
        #expect(try read(out) == plaintext)
        #expect(throws: CryptographyError.self) {
            try CryptoFile.decrypt(from: folder.path("encrypted"), to: out, arguments: other)
        }
        // The wrong key changed nothing and left no other file.
        #expect(try read(out) == plaintext)
        let names = try folder.names()
        #expect(names == ["encrypted", "other", "out", "source"])
    }

    @Test func wrongTagLeavesNoOutput() throws {
        var file = try encrypted(Vectors.bytes(300_000))
        file[200_000] ^= 1
        let damaged = try write(file, to: "damaged")
        let before = try folder.names()
        #expect(throws: CryptographyError.self) {
            try CryptoFile.decrypt(from: damaged, to: folder.path("out"), arguments: Vectors.arguments)
        }
        #expect(try folder.names() == before)
    }

    @Test func devicesAreNotReplaced() throws {
        let source = try write([1, 2, 3], to: "source")
        let link = folder.path("link")
        symlink("/dev/null", link)
        for destination in [link, "/dev/null"] {
            #expect(throws: CryptographyError.self) { try CryptoFile.encrypt(from: source, to: destination) }
        }
        var status = stat()
        #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test func argumentsUseTheJSONOfSimpleX() throws {
        let text =
            #"{"fileKey":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","fileNonce":"ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7"}"#
        #expect(Vectors.arguments.text == text)
        #expect(try FileArguments(parsing: text) == Vectors.arguments)
        #expect(try FileArguments(parsing: " {\n \"cryptoArgs\": \(text)}\n") == Vectors.arguments)
        for bad in ["", "{}", "[]", "{\"fileKey\":\"AA==\",\"fileNonce\":\"AA==\"}", text + "x", "\0"] {
            #expect(throws: CryptographyError.self) { try FileArguments(parsing: bad) }
        }
    }

    @Test func mutatedArgumentsNeverTrap() {
        let good = Array(Vectors.arguments.text.utf8)
        var dice = Dice(seed: 11)
        for _ in 0..<5_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                bytes[Int.random(in: 0..<bytes.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
            }
            if let parsed = try? FileArguments(parsing: String(decoding: bytes, as: UTF8.self)) {
                #expect(parsed.key.count == 32 && parsed.nonce.count == 24)
            }
        }
    }
}

/// Files written by the official program.
enum Resources {
    static let cryptofile =
        "\(#filePath)".split(separator: "/").dropLast()
        .reduce("") { $0 + "/" + $1 } + "/Resources/cryptofile"
}
