/// Names of unfinished files. Such drafts stay local until a rename makes the name final.
///
/// Patterns of:
/// - rsync (`.name.XXXXXX`), browsers and download programs (`*.part`, `*.crdownload`, …), yt-dlp's fragments
///   (`*.part-FragN`)
/// - office programs (`.~lock.name#`, `~$name`, `luXXXX.tmp`), vim (`4913`, `*.swp`, `*.swx`), emacs
///   (`#name#`, `.#name`), Kate
/// - GLib (`.goutputstream-XXXXXX`), sed (`sedXXXXXX`), mktemp (`tmp.XXXXXXXXXX`), dos2unix (`d2utmpXXXXXX`),
///   qpdf, ExifTool
/// - the document portal of Flatpak (`.xdp-NAME-XXXXXX`), NFS and FUSE (`.nfs…`, `.fuse_hidden…`), file
///   managers (`.directory`, `.DS_Store`, `._name`)
public enum TemporaryName {
    /// Returns true for a temporary name. Accepts any bytes.
    public static func matches(_ name: [UInt8]) -> Bool {
        let name = name[...]
        if exact.contains(where: { name.elementsEqual($0) }) { return true }
        if prefixes.contains(where: { name.starts(with: $0) }) { return true }
        let lower = name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        if suffixes.contains(where: { lower.count > $0.count && lower.suffix($0.count).elementsEqual($0) }) {
            return true
        }
        if name.first == UInt8(ascii: "#"), name.last == UInt8(ascii: "#"), name.count > 2 { return true }
        return isRsync(name) || isRandom(name, after: "sed", count: 6)
            || isRandom(name, after: "tmp.", count: 10)
            || isDrawn(name, after: "d2utmp") || isOfPortal(name) || isFragment(name)
    }

    private static let exact = ["4913", ".directory", ".DS_Store"].map { Array($0.utf8) }

    private static let prefixes = [
        ".~lock.", "~$", ".goutputstream-", ".nfs", ".fuse_hidden", ".#", "._", ".~tmp~", ".xdg-tmp-",
    ].map { Array($0.utf8) }

    private static let suffixes = [
        ".part", ".partial", ".crdownload", ".download", ".opdownload", ".filepart", ".aria2", ".ytdl",
        ".tmp", ".temp", "~", ".~qpdf-temp#", ".~qpdf-orig", "_exiftool_tmp", ".!qb", ".!ut", ".swp", ".swx",
        ".swo", ".kate-swp",
    ].map { Array($0.utf8) }

    /// `.name.XXXXXX`: a leading dot, a name, a dot and six letters or digits.
    private static func isRsync(_ name: ArraySlice<UInt8>) -> Bool {
        guard name.first == UInt8(ascii: "."), name.count >= 9 else { return false }
        return name[name.endIndex - 7] == UInt8(ascii: ".") && isRandom(name.suffix(6))
    }

    private static func isRandom(_ name: ArraySlice<UInt8>, after prefix: String, count: Int) -> Bool {
        name.count == prefix.utf8.count + count && name.starts(with: prefix.utf8)
            && isRandom(name.suffix(count))
    }

    /// The prefix is unique, so the letters may be any.
    private static func isDrawn(_ name: ArraySlice<UInt8>, after prefix: String) -> Bool {
        name.count == prefix.utf8.count + 6 && name.starts(with: prefix.utf8)
            && name.suffix(6).allSatisfy { isDigitOrCapital($0) || isSmall($0) }
    }

    /// `.xdp-NAME-XXXXXX`.
    private static func isOfPortal(_ name: ArraySlice<UInt8>) -> Bool {
        name.count > 12 && name.starts(with: ".xdp-".utf8) && name[name.endIndex - 7] == UInt8(ascii: "-")
            && name.suffix(6).allSatisfy { isDigitOrCapital($0) || isSmall($0) }
    }

    /// `NAME.part-FragN`.
    private static func isFragment(_ name: ArraySlice<UInt8>) -> Bool {
        let rest = name[..<((name.lastIndex { !(48...57).contains($0) } ?? name.startIndex - 1) + 1)]
        return rest.count < name.count && rest.suffix(10).elementsEqual(".part-Frag".utf8)
    }

    /// Letters and digits of mkstemp(3). Small letters alone are taken for a word (`.env.backup`,
    /// `sedentary`); one of 200 random names of six has only those.
    private static func isRandom(_ letters: ArraySlice<UInt8>) -> Bool {
        letters.allSatisfy { isDigitOrCapital($0) || isSmall($0) }
            && letters.contains(where: isDigitOrCapital)
    }

    private static func isSmall(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }

    private static func isDigitOrCapital(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
}
