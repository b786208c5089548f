import Glibc

/// The official programs in the folder of the environment variable `OFFICIAL_BIN`.
public enum OfficialPrograms {
    public static let folder: String? = getenv("OFFICIAL_BIN").map { String(cString: $0) }
    /// Without a UTF-8 locale they end at the first name that is not ASCII.
    public static let environment: [String: String?] = ["LC_ALL": "C.UTF-8"]
    public static let library = path("libsimplex.so")

    /// For tests of chats.
    public static let lackChat = lack("simplex-chat", "smp-server", "xftp-server")
    /// For tests of messaging servers.
    public static let lackMessages = lack("smp-server")
    /// For tests of file transfers.
    public static let lackFiles = lack("xftp", "xftp-server")
    public static let lackLibrary = lackChat || lack("libsimplex.so")

    public static func path(_ program: String) -> String { (folder ?? "") + "/" + program }

    private static func lack(_ programs: String...) -> Bool {
        folder == nil || programs.contains { access(path($0), R_OK) != 0 }
    }
}
