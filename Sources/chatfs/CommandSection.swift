/// Sections of the list of commands in help.
enum CommandSection {
    static let daily = "Every day"
    static let chats = "Profiles and chats"
    static let files = "Files without a mount"
    static let data = "Stored data"
    static let other = "More"
}
