/// A setting of the mount that makes it accept a refused operation from now on.
public enum RefusalRemedy: Hashable, Sendable {
    /// Deletes messages for this user.
    case allowDeleting
    /// Sends each pasted folder as one archive.
    case sendArchives
    /// Lets the program of this name receive files.
    case allowProgram(String)

    /// The label of its button.
    var button: String {
        switch self {
        case .allowDeleting: "Allow Deleting"
        case .sendArchives: "Send as Archive"
        case .allowProgram: "Allow Program"
        }
    }

    /// A sentence that tells the effect of the button. Contains no names.
    var effect: String {
        switch self {
        case .allowDeleting: "If you allow deleting, messages go on your side only; then delete again."
        case .sendArchives: "Each folder can be sent as one ZIP archive; then copy it again."
        case .allowProgram: "If you allow the program, it receives all files that it reads."
        }
    }
}
