import Base

/// What an error says about a mistyped word.
public enum Suggestion {
    /// `; did you mean 'mount'?`, or nothing when no word is near.
    public static func text(for word: String, among known: [String]) -> String {
        NearestWord.nearest(to: word, among: known).map { "; did you mean '\($0)'?" } ?? ""
    }
}
