extension Schema {
    /// `ReceptionBudget` of each author in a chat.
    static let unasked = """
        CREATE TABLE unasked_budget (
            chat INTEGER NOT NULL,
            author TEXT NOT NULL,
            since INTEGER NOT NULL,
            files INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            PRIMARY KEY (chat, author)
        ) STRICT, WITHOUT ROWID;
        """
}
