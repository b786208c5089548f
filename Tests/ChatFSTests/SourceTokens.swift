import Glibc

/// The words and punctuation of Swift source, without comments and string contents. Interpolated code counts.
///
/// Scans with the C library, because debug builds would be many times slower.
struct SourceTokens {
    enum Token: Equatable {
        case word(String)
        case mark(Unicode.Scalar)
    }

    private(set) var tokens: [Token] = []

    init(_ text: String) {
        text.withCString { start in
            var next = start
            readCode(&next, isInterpolation: false)
        }
    }

    private typealias Place = UnsafePointer<CChar>

    private static let partsOfWords = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

    private mutating func readCode(_ next: inout Place, isInterpolation: Bool) {
        var parentheses = 0
        while true {
            next += strspn(next, " \n")
            let length = strspn(next, Self.partsOfWords)
            if length > 0 {
                let bytes = UnsafeRawBufferPointer(start: next, count: length)
                tokens.append(.word(String(decoding: bytes, as: UTF8.self)))
                next += length
                continue
            }
            let mark = Unicode.Scalar(UInt8(bitPattern: next.pointee))
            switch mark {
            case "\0": return
            case "/" where Self.begins("//", next): next += strcspn(next, "\n")
            case "/" where Self.begins("/*", next): next = Self.end(of: "*/", next)
            case "\"", "#":
                let hashes = strspn(next, "#")
                next += hashes
                if Self.begins("\"", next) { readString(&next, hashes) }
            default:
                next += 1
                if mark == "(" { parentheses += 1 }
                if mark == ")" {
                    if isInterpolation, parentheses == 0 { return }
                    parentheses -= 1
                }
                tokens.append(.mark(mark))
            }
        }
    }

    /// - Parameter hashes: Number of `#` before the quote.
    private mutating func readString(_ next: inout Place, _ hashes: Int) {
        let marks = String(repeating: "#", count: hashes)
        let quotes = Self.begins("\"\"\"", next) ? "\"\"\"" : "\""
        let (end, escape) = (quotes + marks, "\\" + marks)
        next += quotes.utf8.count
        while true {
            next += strcspn(next, "\"\\\n")
            if Self.begins(end, next) {
                next += end.utf8.count
                return
            }
            // A newline: not a string but a quote in a regular expression.
            if next.pointee == 0 || quotes == "\"" && Self.begins("\n", next) { return }
            guard Self.begins(escape, next) else {
                next += 1
                continue
            }
            next += escape.utf8.count
            let isInterpolation = Self.begins("(", next)
            if next.pointee != 0 { next += 1 }
            if isInterpolation { readCode(&next, isInterpolation: true) }
        }
    }

    private static func begins(_ text: String, _ place: Place) -> Bool {
        strncmp(place, text, text.utf8.count) == 0
    }

    private static func end(of text: String, _ place: Place) -> Place {
        strstr(place, text).map { Place($0) + text.utf8.count } ?? place + strlen(place)
    }
}
