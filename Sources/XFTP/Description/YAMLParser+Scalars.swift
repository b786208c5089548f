/// Scalars on one line: plain, single-quoted, double-quoted.
extension YAMLParser {
    mutating func scalar(inFlow: Bool, isKey: Bool = false) throws(Failure) -> YAMLValue {
        switch peek {
        case UInt8(ascii: "\""): return .scalar(try doubleQuoted(), isPlain: false)
        case UInt8(ascii: "'"): return .scalar(try singleQuoted(), isPlain: false)
        case let byte? where "&*!|>%@`?,]}#".utf8.contains(byte):
            throw failure("uses unsupported YAML")
        default: break
        }
        let start = position
        scan: while position < text.count, text[position] != Self.newline {
            switch text[position] {
            case UInt8(ascii: ":") where isEndOrSpace(position + 1):
                guard inFlow || isKey else { throw failure("has a colon out of place") }
                break scan
            case UInt8(ascii: ":") where inFlow && ",[]{}".utf8.contains(text[position + 1]): break scan
            case UInt8(ascii: "#") where position > start && text[position - 1] == Self.space: break scan
            case let byte where inFlow && ",[]{}".utf8.contains(byte): break scan
            case 0..<32 where text[position] != UInt8(ascii: "\t"):
                throw failure("has a control character")
            default: position += 1
            }
        }
        var end = position
        while end > start, text[end - 1] == Self.space || text[end - 1] == UInt8(ascii: "\t") { end -= 1 }
        guard let plain = String(validating: text[start..<end], as: UTF8.self) else {
            throw failure("is not UTF-8")
        }
        return .scalar(plain, isPlain: true)
    }

    private mutating func singleQuoted() throws(Failure) -> String {
        var bytes: [UInt8] = []
        position += 1
        while let byte = peek, byte != Self.newline {
            position += 1
            if byte == UInt8(ascii: "'") {
                guard peek == UInt8(ascii: "'") else { return String(decoding: bytes, as: UTF8.self) }
                position += 1
            }
            bytes.append(byte)
        }
        throw failure("has an unterminated quotation")
    }

    private mutating func doubleQuoted() throws(Failure) -> String {
        var bytes: [UInt8] = []
        position += 1
        while let byte = peek, byte != Self.newline {
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard let mark = peek else { break }
            position += 1
            switch mark {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(mark)
            case UInt8(ascii: "n"): bytes.append(Self.newline)
            case UInt8(ascii: "r"): bytes.append(Self.carriageReturn)
            case UInt8(ascii: "t"): bytes.append(UInt8(ascii: "\t"))
            case UInt8(ascii: "x"): bytes += try character(digits: 2)
            case UInt8(ascii: "u"): bytes += try character(digits: 4)
            default: throw failure("has an unsupported escape")
            }
        }
        throw failure("has an unterminated quotation")
    }

    private mutating func character(digits: Int) throws(Failure) -> [UInt8] {
        guard text.count - position >= digits else { throw failure("ends too early") }
        let number = UInt32(String(decoding: text[position..<position + digits], as: UTF8.self), radix: 16)
        guard let number, let scalar = UnicodeScalar(number) else {
            throw failure("has an invalid escape")
        }
        position += digits
        return Array(String(Character(scalar)).utf8)
    }
}
