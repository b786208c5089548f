import ChatCore
@_spi(_Unicode) import Swift

/// Names of profiles and groups: 1 to 64 characters in Unicode NFC, none of them a control character
/// or one that changes the direction of text, none that nobody sees, no space at either end, and no `@`,
/// `#`, `*` in front, which stand for the kinds of chats on the command line.
public enum DisplayName {
    static let maxLength = 64

    /// The name in its composed form.
    /// - Parameter what: that has it, for the sentence.
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
                // Joiners and tags where they are part of the spelling.
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
