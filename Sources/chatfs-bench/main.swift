import CommandLineKit

Program.main(BenchProgram.program, version: "0.1.0")
