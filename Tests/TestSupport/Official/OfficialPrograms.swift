import Glibc

/// The official programs, where the environment variable `OFFICIAL_BIN` names the folder that holds them.
public enum OfficialPrograms {
    public static let folder: String? = getenv("OFFICIAL_BIN").map { String(cString: $0) }
    /// Without a UTF-8 locale they end at the first name that is not ASCII.
    public static let environment: [String: String?] = ["LC_ALL": "C.UTF-8"]
    public static let library = path("libsimplex.so")

    /// What the tests of chats need.
    public static let lackChat = lack("simplex-chat", "smp-server", "xftp-server")
    /// What the tests of messaging servers need.
    public static let lackMessages = lack("smp-server")
    /// What the tests of file transfer need.
    public static let lackFiles = lack("xftp", "xftp-server")
    public static let lackLibrary = lackChat || lack("libsimplex.so")

    public static func path(_ program: String) -> String { (folder ?? "") + "/" + program }

    private static func lack(_ programs: String...) -> Bool {
        folder == nil || programs.contains { access(path($0), R_OK) != 0 }
    }
}
