/// Returns a number with its noun, such as "1 file" and "2 files".
func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
