import Base

/// Writes keys and strings of TOML 1.0.
public enum TOMLText {
    /// A bare key if its characters allow that, else a quoted one.
    public static func key(_ text: String) -> String {
        let isBare =
            !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        return isBare ? text : string(text)
    }

    /// A basic string.
    public static func string(_ text: String) -> String {
        QuotedText.quote(text, isShort: false) { $0 == "\u{7F}" }
    }
}
