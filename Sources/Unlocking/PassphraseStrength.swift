import Cryptography

/// Estimates the number of guesses that a new passphrase withstands. Each guess costs Argon2id with 128 MiB.
public enum PassphraseStrength {
    /// The bits below which a passphrase is weak: a thousand processors try that many in some years.
    private static let enough = 45.0

    /// Returns the reason for weakness with the remedy, or nil. Copies nothing out of locked memory.
    public static func weakness(of passphrase: SecretBytes) -> String? {
        let bits = passphrase.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> Double in
            Self.bits(of: bytes)
        }
        guard bits < enough else { return nil }
        let reason =
            if passphrase.count < 10 {
                "it is short"
            } else {
                "it repeats itself, or is a row of the keyboard"
            }
        return reason + "; four words that do not belong together are better"
    }

    /// By length and kinds of characters. Characters that follow from the previous one count little.
    static func bits(of bytes: UnsafeRawBufferPointer) -> Double {
        var kinds: (lower: Bool, upper: Bool, digit: Bool, other: Bool) = (false, false, false, false)
        var places = 0.0
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): kinds.lower = true
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): kinds.upper = true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): kinds.digit = true
            default: kinds.other = true
            }
            places += follows(bytes, index) ? 0.2 : 1
        }
        let perPlace =
            switch (kinds.lower || kinds.upper, kinds.digit, kinds.other) {
            case (true, false, false): kinds.lower && kinds.upper ? 4.2 : 3.6
            case (false, true, false): 3.2
            case (_, true, true), (true, _, true): 4.5
            default: 4.2
            }
        return places * perPlace
    }

    /// Returns whether a character is easily guessed from the previous ones: a repetition, a successor (`abc`, `321`, a
    /// keyboard row), or a repeated beginning.
    private static func follows(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        guard index > 0 else { return false }
        let step = Int(bytes[index]) - Int(bytes[index - 1])
        if (-1...1).contains(step) || isNeighbour(bytes[index - 1], bytes[index]) { return true }
        // A repeated beginning of at least three characters.
        return (3...max(3, index)).contains { period in
            index >= period && (period...index).allSatisfy { bytes[$0] == bytes[$0 - period] }
        }
    }

    private static let rows = ["qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm"].map {
        Array($0.utf8)
    }

    private static func isNeighbour(_ first: UInt8, _ second: UInt8) -> Bool {
        rows.contains { row in
            guard let place = row.firstIndex(of: first | 0x20), place + 1 < row.count else { return false }
            return row[place + 1] == second | 0x20
        }
    }
}
