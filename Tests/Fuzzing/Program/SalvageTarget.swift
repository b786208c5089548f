import Base
import Glibc
import Posix

@testable import Cryptography

extension Target {
    /// A CryptoFile of several pages with changed bits, truncations, and unreadable sectors.
    static let salvage = Target(
        "salvage", "damaged CryptoFiles on a failing disk", longest: 128
    ) { bytes in
        var input = Input(bytes)
        // Four sectors; more only cost time.
        let length = (Int(input.byte()) << 8 | Int(input.byte())) & 0x3FFF
        let content = SalvageFixture.content(length: length)
        var file = SalvageFixture.sealed(content)
        let whole = file
        if input.bool() { file.removeLast(Int(input.integer() & 0xFFFF) % (file.count + 1)) }
        let changes = input.some()
        for place in stride(from: 0, to: changes.count - 2, by: 3) where !file.isEmpty {
            let offset = (Int(changes[place]) << 8 | Int(changes[place + 1])) % file.count
            file[offset] ^= changes[place + 2]
        }
        let badSectors = Set(input.rest().map { Int($0) })

        let destination = Scratch.newPath("salvaged")
        defer { unlink(destination) }
        let isCut = file.count < StreamBox.tagLength
        let size = isCut ? 0 : file.count - StreamBox.tagLength
        guard
            let result = try? CryptoFile.salvage(
                SalvageFixture.empty(file.count), to: destination, arguments: SalvageFixture.arguments,
                read: { (buffer, offset) throws(SystemError) in
                    try SalvageFixture.read(file, into: buffer, at: Int(offset), failing: badSectors)
                })
        else { return hold(false, "salvage ends") }

        hold(result.size == UInt64(size), "the size is that of the plaintext")
        let found = SalvageFixture.bytes(at: destination)
        hold(found.count == size, "the salvaged file has it")
        var unreadable = 0
        for start in stride(from: 0, to: size, by: SalvageFixture.sector) {
            let place = start..<min(start + SalvageFixture.sector, size)
            if badSectors.contains(start / SalvageFixture.sector) {
                unreadable += place.count
                let zeros = SalvageFixture.zeros.prefix(place.count)
                hold(found[place].hasBytes(of: zeros), "zeros stand for what the disk keeps")
            } else if file[place].hasBytes(of: whole[place]) {
                hold(found[place].hasBytes(of: content[place]), "what is whole is what was written")
            } else {
                let isWrong = place.contains { file[$0] == whole[$0] && found[$0] != content[$0] }
                hold(!isWrong, "what is whole is what was written")
            }
        }
        hold(result.unreadable == UInt64(unreadable), "what is missing is counted")
        let isTagRead = !(size..<size + StreamBox.tagLength).contains {
            badSectors.contains($0 / SalvageFixture.sector)
        }
        hold(
            result.isAuthentic == (file[...].hasBytes(of: whole[...]) && unreadable == 0 && isTagRead),
            "only a file without any damage is authentic")
    }
}

private enum SalvageFixture {
    static let sector = 4096
    static let arguments = FileArguments(
        key: [UInt8](repeating: 3, count: 32), nonce: [UInt8](repeating: 4, count: 24))

    static let zeros = [UInt8](repeating: 0, count: sector)
    private static let longest = (0..<1 << 14).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }

    /// Creates a file of this size whose content comes from `read`.
    static func empty(_ length: Int) -> OpenFile {
        let file = Scratch.file([])
        hold((try? file.truncate(to: UInt64(length))) != nil, "a file in memory has a length")
        return file
    }

    static func content(length: Int) -> [UInt8] { Array(longest.prefix(length)) }

    static func sealed(_ content: [UInt8]) -> [UInt8] {
        guard var box = try? StreamBox(key: arguments.key, nonce: arguments.nonce) else {
            fatalError("a box can be made")
        }
        var sealed = content
        sealed.withUnsafeMutableBytes { box.seal($0) }
        return sealed + box.tag()
    }

    /// Like pread(2) of a file with bad sectors: returns the bytes before one, and EIO at its start.
    static func read(
        _ file: [UInt8], into buffer: UnsafeMutableRawBufferPointer, at offset: Int, failing sectors: Set<Int>
    ) throws(SystemError) -> Int {
        var end = min(offset + buffer.count, file.count)
        guard offset < end else { return 0 }
        if let bad = sectors.filter({ $0 >= offset / sector }).min(), bad * sector < end {
            guard bad > offset / sector else { throw SystemError(code: EIO, operation: "read a file") }
            end = bad * sector
        }
        buffer.copyBytes(from: file[offset..<end])
        return end - offset
    }

    static func bytes(at path: String) -> [UInt8] {
        guard let file = try? OpenFile(path, flags: O_RDONLY), let size = try? file.size(),
            let bytes = try? file.read(count: Int(size), at: 0)
        else { fatalError("what was salvaged can be read") }
        return bytes
    }
}
