/** Shell completion. The scripts are generated from the commands and their arguments, as the help is. */
import { type Argument, choice, required } from './arguments.ts'
import { type Command, command } from './command.ts'

type Commands = Readonly<Record<string, Command>>

const shells = ['bash', 'zsh', 'fish'] as const

/** Returns the command that prints the scripts. `commands` has all commands by name. */
export function completionCommand(commands: () => Commands): Command {
  return command({
    summary: 'Print a script that completes commands and options in bash, zsh or fish.',
    arguments: { operand: required(shells.join('|'), 'the shell', choice(shells)) },
    notes: `To complete the command waymark in each new shell, add a line to its configuration:

  ~/.bashrc                    source <(waymark completion bash)
  ~/.zshrc, after compinit     source <(waymark completion zsh)
  ~/.config/fish/config.fish   waymark completion fish | source`,
    run: async ({ operand: shell }) => scripts[shell](listStates(commands())),
  })
}

/**
 * Returns the completions after the first words of a command line. `path` has the words that name a command or a group, each
 * with a space before it, such as ` links create`.
 */
function listStates(commands: Commands) {
  const names = Object.keys(commands)
  const paths = [...new Set(names.flatMap((name) => ['', ` ${name.replace(/ .*/, '')}`, ` ${name}`]))]
  return paths.map((path) => {
    const { operand, ...options } = commands[path.trim()]?.arguments ?? {}
    const following = paths.filter((other) => other !== '' && other.replace(/ [^ ]+$/, '') === path)
    const more = path === '' ? ['help', 'version'] : listValues(operand)
    const words = [...following.map((other) => other.slice(path.length + 1)), ...more]
    return { path, words, operand, options: Object.entries(options) }
  })
}

type State = ReturnType<typeof listStates>[number]

/** Returns the values that an argument may have; empty if it may have others. */
function listValues(argument: Argument<unknown> | undefined): readonly string[] {
  return argument?.placeholder.includes('|') ? argument.placeholder.split('|') : []
}

/** Returns a function that sets `list` and `files` to the completions after its arguments, for bash and zsh. */
function listFunction(states: readonly State[]): string {
  const values = states.flatMap(({ path, options }) =>
    options
      .filter(([, { placeholder }]) => placeholder !== '')
      .map(([name, argument]) => `    '${path} --${name}') ${assignment(listValues(argument), argument)}; return ;;`),
  )
  const words = states.map(({ path, words, operand, options }) => {
    const flags = ['--help', ...options.map(([name]) => `--${name}`)]
    return `    '${path}') ${assignment([...words, ...flags], operand)} ;;`
  })
  return `_waymark_list() {
  local word state=
  for word in "$@"; do
    case "$state $word" in
      ' help') ;;
      ${quotePaths(states).join('|')}) state="$state $word" ;;
      *) break ;;
    esac
  done
  case "$state $previous" in
${values.join('\n')}
  esac
  case "$state" in
${words.join('\n')}
  esac
}
`
}

function quotePaths(states: readonly State[]): string[] {
  return states.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`]))
}

function assignment(words: readonly string[], argument: Argument<unknown> | undefined): string {
  return `list='${words.join(' ')}'${argument?.isFile ? ' files=1' : ''}`
}

const scripts: Readonly<Record<(typeof shells)[number], (states: readonly State[]) => string>> = {
  bash: (states) => `${listFunction(states)}
_waymark() {
  local list= files= current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  _waymark_list "\${COMP_WORDS[@]:1:COMP_CWORD-1}"
  if [[ $files && $current != -* ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -W "\${list%%--*}" -- "$current"; compgen -f -- "$current")
  else
    COMPREPLY=($(compgen -W "$list" -- "$current"))
  fi
}
complete -F _waymark waymark`,

  zsh: (states) => `${listFunction(states)}
_waymark() {
  local list= files= previous="$words[CURRENT-1]"
  _waymark_list "\${(@)words[2,CURRENT-1]}"
  if [[ -n $files && $words[CURRENT] != -* ]]; then
    _files
    list="\${list%%--*}"
  fi
  compadd -- \${=list}
}
compdef _waymark waymark`,

  fish: (states) => `function __waymark_state
    set -l state ''
    for word in (commandline -opc)[2..]
        switch "$state $word"
            case ' help'
            case ${quotePaths(states).join(' ')}
                set state "$state $word"
            case '*'
                break
        end
    end
    echo "$state"
end
complete -c waymark -f
${states.flatMap(fishLines).join('\n')}`,
}

function fishLines({ path, words, operand, options }: State): string[] {
  const line = `complete -c waymark -n 'test "$(__waymark_state)" = "${path}"'`
  return [
    ...(words.length === 0 ? [] : [`${line} -a '${words.join(' ')}'`]),
    ...(operand?.isFile ? [`${line} -F`] : []),
    `${line} -l help -s h -d 'print the help'`,
    ...options.map(([name, argument]) => {
      const value = argument.isFile ? ' -r -F' : ` -x -a '${listValues(argument).join(' ')}'`
      const help = argument.help.replaceAll(/[\\']/g, '\\$&').replaceAll('\n', ' ')
      return `${line} -l ${name}${argument.placeholder === '' ? '' : value} -d '${help}'`
    }),
  ]
}
