import Base

/// The spelling of a file's path as a URI. Thumbnails are found by the exact URI, so each program's choice of encoded
/// characters matters (GLib 2.74 and Qt 5.15).
public enum FileURI: CaseIterable, Sendable {
    /// `g_filename_to_uri`: GNOME, Xfce and other GLib programs.
    case glib
    /// `QUrl::fromLocalFile`, `toEncoded`: KDE.
    case qt

    private static let common =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,/:=@"
    private static let onlyQt = PercentEncoding.Unescaped(";[]")
    private static let ofQt = PercentEncoding.Unescaped(common + ";[]")
    private static let ofGLib = PercentEncoding.Unescaped(common)

    /// - Parameter path: The absolute path in raw bytes.
    public func text(of path: [UInt8]) -> String {
        "file://" + PercentEncoding.encode(path, except: self == .qt ? Self.ofQt : Self.ofGLib)
    }

    /// Returns the distinct spellings of a path: one for most, two for the others. Qt opens only UTF-8 names.
    public static func spellings(of path: [UInt8]) -> [(spelling: FileURI, text: String)] {
        let glib = (FileURI.glib, FileURI.glib.text(of: path))
        guard path.contains(where: { onlyQt.contains($0) }),
            String(validating: path, as: UTF8.self) != nil
        else { return [glib] }
        return [glib, (.qt, FileURI.qt.text(of: path))]
    }
}
