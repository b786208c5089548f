/// How programs write the path of a file as a URI. A thumbnail is found by the letters of that URI, so it matters
/// which characters each of them encodes (seen with GLib 2.74 and Qt 5.15).
public enum FileURI: CaseIterable, Sendable {
    /// `g_filename_to_uri`: GNOME, Xfce and whatever else stands on GLib.
    case glib
    /// `QUrl::fromLocalFile`, `toEncoded`: KDE.
    case qt

    /// By the byte: whether it stays as it is.
    private static let common = table(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,/:=@")
    private static let onlyQt = table(";[]")
    private static let ofQt = zip(common, onlyQt).map { $0 || $1 }

    private static func table(_ characters: String) -> [Bool] {
        var table = [Bool](repeating: false, count: 256)
        for byte in characters.utf8 { table[Int(byte)] = true }
        return table
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    /// - Parameter path: absolute. Its bytes are those of the names, whatever they are.
    public func text(of path: [UInt8]) -> String {
        let plain = self == .qt ? Self.ofQt : Self.common
        var bytes = Array("file://".utf8)
        bytes.reserveCapacity(bytes.count + path.count + path.count / 4)
        for byte in path {
            if plain[Int(byte)] {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The ways to write this path that differ: one for most, both for the others. Qt opens no names that are not
    /// UTF-8.
    public static func spellings(of path: [UInt8]) -> [(spelling: FileURI, text: String)] {
        let glib = (FileURI.glib, FileURI.glib.text(of: path))
        guard path.contains(where: { onlyQt[Int($0)] }),
            String(validating: path, as: UTF8.self) != nil
        else { return [glib] }
        return [glib, (.qt, FileURI.qt.text(of: path))]
    }
}
