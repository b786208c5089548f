import Base
import Posix

@testable import Cryptography

extension Target {
    /// Files on disk that another person may have changed.
    static let files = [
        Target("file-arguments", "keys of CryptoFiles as JSON", longest: 512) { bytes in
            guard let arguments = try? FileArguments(parsing: bytes.text) else { return }
            hold(arguments.key.count == 32 && arguments.nonce.count == 24, "keys have their length")
            hold((try? FileArguments(parsing: arguments.text)) == arguments, "written arguments are the same")
        },
        Target("cryptofile", "CryptoFiles, as they are and changed", longest: 1024) { bytes in
            var input = Input(bytes)
            let (isMade, change, place) = (input.bool(), input.number(below: 4), Int(input.integer() & 0x3FF))
            let arguments = FileArguments(
                key: [UInt8](repeating: 3, count: 32), nonce: [UInt8](repeating: 4, count: 24))
            let content = input.rest()
            guard isMade, var box = try? StreamBox(key: arguments.key, nonce: arguments.nonce) else {
                return hold(read(content, arguments) == nil, "nobody without the key makes a file")
            }
            var sealed = content
            sealed.inPieces(of: 50) { _ in }
            sealed.withUnsafeMutableBytes { box.seal($0) }
            sealed += box.tag()
            let whole = sealed
            switch change {
            case 0: sealed[place % sealed.count] ^= 1 << UInt8(place & 7)
            case 1: sealed.removeLast(place % sealed.count)
            case 2: sealed += content.prefix(place)
            default: break
            }
            let result = read(sealed, arguments)
            hold((sealed == whole) == (result != nil), "a changed file is noticed, another is not")
            if let result { hold(result == content, "a whole file is what was written") }
        },
        Target("sealed-file", "sealed files, as they are and changed", longest: 512) { bytes in
            var input = Input(bytes)
            let key = SealedFixture.key
            let (file, second) = (Scratch.file([]), input.bool() ? Scratch.file([]) : nil)
            guard let sealed = try? SealedFile(file: file, key: key, fileID: [1], second: second) else {
                return hold(false, "an empty file can be opened")
            }
            var content: [UInt8] = []
            for _ in 0..<3 where !input.isAtEnd {
                let offset = SealedFixture.offset(input.byte())
                let piece = input.some()
                guard !piece.isEmpty, (try? sealed.write(piece, at: UInt64(offset))) != nil else { continue }
                if content.count < offset + piece.count {
                    content += [UInt8](repeating: 0, count: offset + piece.count - content.count)
                }
                content.replaceSubrange(offset..<offset + piece.count, with: piece)
            }
            // A change on the disk while the file is closed.
            let place = UInt64(input.byte()) << 9 | UInt64(input.byte())
            let change = input.some()
            let before = (try? file.read(count: change.count, at: place)) ?? []
            let length = (try? file.size()) ?? 0
            if !change.isEmpty, place + UInt64(change.count) <= length {
                guard (try? file.write(change, at: place)) != nil else { return }
            }
            let isSame = change.isEmpty || place + UInt64(change.count) > length || before == change
            guard let again = try? SealedFile(file: file, key: key, fileID: [1], second: second) else {
                return hold(false, "a changed file can be opened")
            }
            var found = [UInt8](repeating: 0, count: content.count + 10)
            let count = try? found.withUnsafeMutableBytes { try again.read(into: $0, at: 0) }
            if isSame { hold(count == content.count, "what was written is there") }
            guard let count else { return }
            // A header of zeros is a block that was never written.
            let isWhole = found.prefix(count).hasBytes(of: content.prefix(count))
            hold(isWhole || SealedFixture.isDropped(found, content), "what is read was written")
        },
    ]

    /// The plaintext, or nil if the file is refused.
    private static func read(_ bytes: [UInt8], _ arguments: FileArguments) -> [UInt8]? {
        guard let reader = try? CryptoFileReader(file: Scratch.file(bytes), arguments: arguments) else {
            return nil
        }
        var early = [UInt8](repeating: 0, count: 8)
        let isEarly = (try? early.withUnsafeMutableBytes { try reader.read(into: $0, at: 0) }) != nil
        hold(!isEarly, "nothing is read before the tag was compared")
        var content: [UInt8] = []
        guard (try? reader.decrypt { content += $0 }) != nil else { return nil }
        return content
    }
}

private enum SealedFixture {
    static let key = SecretBytes([UInt8](repeating: 5, count: 32))

    private static let zeros = [UInt8](repeating: 0, count: SealedFile.blockSize)

    /// The place of a write: mostly the start of a block, sometimes across two blocks, for which everything before must
    /// be sealed as well.
    static func offset(_ byte: UInt8) -> Int {
        switch byte {
        case 0..<192: Int(byte) << 2
        case 192..<240: SealedFile.blockSize + Int(byte - 192) << 4
        default: SealedFile.blockSize - 256 + Int(byte - 240) << 4
        }
    }

    /// Whether blocks differ only by reading as zeros.
    static func isDropped(_ found: [UInt8], _ content: [UInt8]) -> Bool {
        stride(from: 0, to: content.count, by: SealedFile.blockSize).allSatisfy { start in
            let end = min(start + SealedFile.blockSize, content.count)
            return found[start..<end].hasBytes(of: content[start..<end])
                || found[start..<end].hasBytes(of: zeros[..<(end - start)])
        }
    }
}
