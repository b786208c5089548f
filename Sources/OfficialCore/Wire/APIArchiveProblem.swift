import JSON

/// What could not be taken along, in the core's words: a name may be in them.
public struct APIArchiveProblem: Hashable, Sendable {
    /// nil: not about one file.
    public let file: String?
    public let sentence: String

    static func all(_ json: JSONValue) -> [APIArchiveProblem] {
        (json["archiveErrors"]?.elements ?? []).map { error in
            let words =
                (error["fileError"] ?? error["importError"])?.string ?? error.type ?? "no reason was given"
            return APIArchiveProblem(file: error["file"]?.string, sentence: String(words.prefix(500)))
        }
    }
}
