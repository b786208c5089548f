import ChatCore

/// The small file beside an upload by which desktops open its link.
enum LinkShortcut {
    static func name(for file: String) -> String {
        SafeFileName.shortened(file, to: SafeFileName.maxLength - 4) + ".url"
    }

    /// Links are percent-coded, so nothing in them ends the line.
    static func content(_ link: String) -> [UInt8] { Array("[InternetShortcut]\r\nURL=\(link)\r\n".utf8) }
}
