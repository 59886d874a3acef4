package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		line, err := UnmarshalWatchLine(lines.Bytes())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch line.Change {
		case Added, Changed, Removed:
			fmt.Println(line.Change, line.Session.Session, line.Session.State)
		case Ready:
			fmt.Println("ready")
		}
	}
}
