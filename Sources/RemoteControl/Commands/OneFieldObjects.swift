import JSON

/// Converts the iPhone's encoding of alternatives, `{"_owsf":true,"x":{…}}`, into the common one, `{"type":"x",…}`.
enum OneFieldObjects {
    private static let mark = Array("_owsf".utf8)

    /// Returns the text with all such pairs replaced, in one pass, or nil if it is not JSON. Text without any is
    /// returned unchanged.
    static func tagged(_ text: [UInt8]) -> [UInt8]? {
        guard text.contains(mark) else { return text }
        guard let value = JSONValue.parse(text) else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(text.count + text.count / 8)
        write(value, to: &output)
        return output
    }

    private static func write(_ value: JSONValue, to output: inout [UInt8]) {
        if let (name, content) = alternative(value) {
            write(content, named: name, to: &output)
        } else if value.isObject {
            output.append(UInt8(ascii: "{"))
            writeMembers(of: value, isFirst: true, to: &output)
            output.append(UInt8(ascii: "}"))
        } else if value.source.first == UInt8(ascii: "[") {
            output.append(UInt8(ascii: "["))
            for (place, element) in value.elements.enumerated() {
                if place > 0 { output.append(UInt8(ascii: ",")) }
                write(element, to: &output)
            }
            output.append(UInt8(ascii: "]"))
        } else {
            output += value.source
        }
    }

    /// Members of an object are next to the name; other content, and an alternative, is its `data`.
    private static func write(_ content: JSONValue, named name: String, to output: inout [UInt8]) {
        output += Array(#"{"type":"#.utf8) + Array(JSONText.string(name).utf8)
        if content.isObject, alternative(content) == nil {
            writeMembers(of: content, isFirst: false, to: &output)
        } else {
            output += Array(#","data":"#.utf8)
            write(content, to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }

    private static func writeMembers(of object: JSONValue, isFirst: Bool, to output: inout [UInt8]) {
        for (place, member) in object.members.enumerated() {
            if place > 0 || !isFirst { output.append(UInt8(ascii: ",")) }
            output += Array(JSONText.string(member.name).utf8)
            output.append(UInt8(ascii: ":"))
            write(member.value, to: &output)
        }
    }

    /// Returns the name and content of an object with exactly two members, one of which is the mark.
    private static func alternative(_ value: JSONValue) -> (name: String, content: JSONValue)? {
        guard value.isObject, value["_owsf"]?.bool == true else { return nil }
        let members = value.members
        guard members.count == 2, let other = members.first(where: { $0.name != "_owsf" }) else { return nil }
        return (other.name, other.value)
    }
}
