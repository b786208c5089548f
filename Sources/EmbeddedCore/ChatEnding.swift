/// Why nothing can be sent into a chat any more; what it holds stays.
enum ChatEnding: String {
    case left
    case contactLeft = "contact_left"
    case contactDeleted = "contact_deleted"

    var sentence: String {
        switch self {
        case .left: "You have left this chat."
        case .contactLeft: "The contact has left this chat."
        case .contactDeleted: "The contact does not exist any more."
        }
    }
}
