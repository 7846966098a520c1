# Completion of patchbay and patchbayd for fish. Where an agent is due, the hub is asked for at most 300 ms.

# Prints the words of the line that tell which hub is meant, one a line.
function __patchbay_hub
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --hub --token-file --tls-ca --tls-certificate --tls-key --framing
                printf '%s\n' $words[1..2]
                set -e words[1]
            case '--*=*'
                printf '%s\n' $words[1]
            case '*'
                return
        end
        set -e words[1]
    end
end

# Prints the command of the line and what stands behind, one word a line, without options and the words that they take before the command.
function __patchbay_arguments
    set -l words (commandline -opc)
    set -e words[1]
    for word in (__patchbay_hub)
        set -e words[1]
    end
    string match -v -- '-*' $words
end

# Whether the line's command is one of these. None: there is no command yet.
function __patchbay_command
    set -l words (__patchbay_arguments)
    if set -q argv[1]
        contains -- "$words[1]" $argv
    else
        not set -q words[1]
    end
end

# Whether the line's command is one of these, and its first argument is due.
function __patchbay_first
    __patchbay_command $argv; and test (count (__patchbay_arguments)) -eq 1
end

# Whatever is no agentId is left out.
function __patchbay_agents
    set -l hub (__patchbay_hub)
    timeout 0.3 patchbay $hub agents --json 2>/dev/null </dev/null | string match -ar '"agentId":"([A-Za-z0-9_.:/-]*)"' | string match -v '"*'
end

complete -c patchbay -f
@COMMANDS@
@FLAGS@
complete -c patchbay -n '__patchbay_first send pending' -a '(__patchbay_agents)'
@COMMAND_ACTIONS@
complete -c patchbay -n '__patchbay_first record replay' -F
@COMMAND_OPTIONS@
complete -c patchbayd -f
@HUB_OPTIONS@
complete -c patchbayd -l help -d 'prints the options'
complete -c patchbayd -l version -d 'prints the version'
