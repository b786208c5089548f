import Base

/// How programs write the path of a file as a URI. A thumbnail is found by the letters of that URI, so it matters
/// which characters each of them encodes (seen with GLib 2.74 and Qt 5.15).
public enum FileURI: CaseIterable, Sendable {
    /// `g_filename_to_uri`: GNOME, Xfce and whatever else stands on GLib.
    case glib
    /// `QUrl::fromLocalFile`, `toEncoded`: KDE.
    case qt

    private static let common =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,/:=@"
    private static let onlyQt = PercentEncoding.Unescaped(";[]")
    private static let ofQt = PercentEncoding.Unescaped(common + ";[]")
    private static let ofGLib = PercentEncoding.Unescaped(common)

    /// - Parameter path: absolute. Its bytes are those of the names, whatever they are.
    public func text(of path: [UInt8]) -> String {
        "file://" + PercentEncoding.encode(path, except: self == .qt ? Self.ofQt : Self.ofGLib)
    }

    /// The ways to write this path that differ: one for most, both for the others. Qt opens no names that are not
    /// UTF-8.
    public static func spellings(of path: [UInt8]) -> [(spelling: FileURI, text: String)] {
        let glib = (FileURI.glib, FileURI.glib.text(of: path))
        guard path.contains(where: { onlyQt.contains($0) }),
            String(validating: path, as: UTF8.self) != nil
        else { return [glib] }
        return [glib, (.qt, FileURI.qt.text(of: path))]
    }
}
