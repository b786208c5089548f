import ChatCore
@_spi(_Unicode) import Swift

/// Checks names of profiles and groups: 1 to 64 characters in Unicode NFC. They have no control characters, invisible
/// characters, changes of text direction, or spaces at an end. They do not begin with `@`, `#` or `*`, which mark
/// kinds of chats on the command line.
public enum DisplayName {
    static let maxLength = 64

    /// Returns the name in its composed form.
    /// - Parameter what: The kind of owner, for the sentence.
    /// - Throws: `.invalidCommand`.
    public static func checked(_ name: String, of what: String) throws(ChatError) -> String {
        func refusal(_ reason: String) -> ChatError {
            ChatError(.invalidCommand, "The name of a \(what) \(reason).")
        }
        let composed = String(String.UnicodeScalarView(name._nfc))
        guard !composed.isEmpty else { throw refusal("cannot be empty") }
        guard composed.count <= maxLength, composed.utf8.count <= 4 * maxLength else {
            throw refusal("can have at most \(maxLength) characters")
        }
        guard composed.first?.isWhitespace == false, composed.last?.isWhitespace == false else {
            throw refusal("cannot begin or end with a space")
        }
        guard !["@", "#", "*"].contains(composed.first) else {
            throw refusal("cannot begin with @, # or *")
        }
        let isPrintable = composed.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator, .unassigned:
                // Joiners and tags within the spelling of a character are permitted.
                scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isBidiControl
            default: true
            }
        }
        guard isPrintable else { throw refusal("cannot hold control characters") }
        guard VisibleText.removingInvisible(composed.unicodeScalars).elementsEqual(composed.unicodeScalars)
        else { throw refusal("cannot hold invisible characters") }
        return composed
    }
}
