import Base

/// Suggestions for mistyped words.
public enum Suggestion {
    /// Returns `; did you mean 'mount'?`, or an empty text if no word is similar.
    public static func text(for word: String, among known: [String]) -> String {
        NearestWord.nearest(to: word, among: known).map { "; did you mean '\($0)'?" } ?? ""
    }
}
