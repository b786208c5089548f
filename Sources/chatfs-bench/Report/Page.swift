import Base

/// A page of the documentation with marks for the figures of a run.
enum Page {
    static let beginning = "<!-- figures of chatfs-bench -->"
    static let ending = "<!-- end of the figures -->"

    /// Returns `text` with `figures` between the two marks, or nil unless each mark occurs once in this order.
    static func replacing(figuresIn text: String, with figures: String) -> String? {
        let head = parts(of: text, around: beginning)
        guard head.count == 2 else { return nil }
        let tail = parts(of: head[1], around: ending)
        guard tail.count == 2, parts(of: head[0], around: ending).count == 1 else { return nil }
        return head[0] + beginning + "\n\n" + figures + "\n" + ending + tail[1]
    }

    /// Shows a picture of the run above its figures. A picture in the page's folder is linked by name.
    static func link(toPicture picture: String, from page: String) -> String {
        let target = picture.parentPath == page.parentPath ? picture.lastPathName ?? picture : picture
        return "![chatfs against its targets](\(target))\n\n"
    }

    private static func parts(of text: String, around mark: String) -> [String] {
        text.split(separator: mark, omittingEmptySubsequences: false).map(String.init)
    }
}
