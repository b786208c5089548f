import ChatCore

/// The small file next to an upload with which desktops open its link.
enum LinkShortcut {
    static func name(for file: String) -> String {
        SafeFileName.shortened(file, to: SafeFileName.maxLength - 4) + ".url"
    }

    /// Links are percent-encoded, so they contain no line break.
    static func content(_ link: String) -> [UInt8] { Array("[InternetShortcut]\r\nURL=\(link)\r\n".utf8) }
}
