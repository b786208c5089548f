import Base
import JSON

/// The form of one argument of a command.
enum CommandArgument {
    /// Digits, at most 19.
    case number
    /// Numbers separated by commas.
    case numbers
    /// A number after one of these signs: `@` a contact, `#` a group, `*` the user's notes.
    case chat(of: String)
    /// The same, or a group's conversation with a member: `#4(_support)`, `#4(_support:17)`.
    case part(of: String)
    /// One of these words.
    case word([String])
    /// The same, optional.
    case optional([String])
    /// A number after a word.
    case value(String)
    /// Messages as JSON up to the end of the command.
    case messages

    /// Removes a matching argument from the front of `words`. Returns whether there is one.
    func take(from words: inout ArraySlice<Substring>) -> Bool {
        switch self {
        case .optional(let choices):
            if let word = words.first, choices.contains(String(word)) { words.removeFirst() }
            return true
        case .messages:
            let text = words.joined(separator: " ")
            words = []
            return Self.areMessages(text)
        default:
            guard let word = words.popFirst() else { return false }
            return fits(word)
        }
    }

    private func fits(_ word: Substring) -> Bool {
        switch self {
        case .number: return Self.isNumber(word)
        case .numbers:
            return word.split(separator: ",", omittingEmptySubsequences: false).allSatisfy(Self.isNumber)
        case .chat(let signs): return Self.isChat(word, of: signs)
        case .part(let signs):
            guard word.first == "#", let end = word.firstIndex(of: "(") else {
                return Self.isChat(word, of: signs)
            }
            return Self.isChat(word[..<end], of: signs) && Self.isScope(word[end...])
        case .word(let choices): return choices.contains(String(word))
        case .value(let name): return word.hasPrefix(name) && Self.isNumber(word.dropFirst(name.count))
        case .optional, .messages: return false
        }
    }

    private static func isChat(_ word: Substring, of signs: String) -> Bool {
        guard let sign = word.first, signs.contains(sign) else { return false }
        return isNumber(word.dropFirst())
    }

    private static func isScope(_ text: Substring) -> Bool {
        let beginning = "(_support:"
        guard text.hasPrefix(beginning), text.last == ")" else { return text == "(_support)" }
        return isNumber(text.dropFirst(beginning.count).dropLast())
    }

    private static func isNumber(_ text: Substring) -> Bool {
        (1...19).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// An array of messages whose files are names in the phone's files folder, so no other file of the phone can be
    /// sent.
    private static func areMessages(_ text: String) -> Bool {
        guard let messages = JSONValue.parse(Array(text.utf8)), text.first == "[", !messages.elements.isEmpty
        else { return false }
        return messages.elements.allSatisfy { message in
            let sources = message.members.filter { $0.name == "fileSource" }
            // Earlier versions had the path next to the content.
            guard message.isObject, !message.members.contains(where: { $0.name == "filePath" }),
                sources.count <= 1
            else { return false }
            guard let source = sources.first?.value, !source.isNull else { return true }
            let paths = source.members.filter { $0.name == "filePath" }
            guard paths.count == 1, let path = paths[0].value.string else { return false }
            return PhoneFileName.isClean(path)
        }
    }
}

/// The name of a file on the phone.
public enum PhoneFileName {
    /// Whether it is one path component, without control characters, and not a relative folder. The phone does not
    /// sanitise names.
    public static func isClean(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && name != "." && name != ".."
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
    }
}
