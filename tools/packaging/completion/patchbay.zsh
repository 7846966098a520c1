#compdef patchbay patchbayd
# Completion of patchbay and patchbayd for zsh. Where an agent is due, the hub is asked for at most 300 ms.

_patchbay_agents() {
    local agents
    agents=(${(f)"$(timeout 0.3 patchbay agents --json 2>/dev/null </dev/null | grep -o '"agentId":"[^"]*"' 2>/dev/null | cut -d '"' -f 4)"})
    compadd -a agents
}

_patchbay_client() {
    local commands options
    commands=(
@COMMANDS@
    )
    if ((CURRENT == 2)); then
        _describe command commands
        compadd -- @FLAGS@
        return
    fi
    case ${words[2]} in
@COMMAND_OPTIONS@
    esac
    if [[ ${words[CURRENT - 1]} == --(agent|target) || (${words[2]} == send && $CURRENT -eq 3 && ${words[CURRENT]} != -*) ]]; then
        _patchbay_agents
    elif [[ ${words[CURRENT - 1]} == --priority ]]; then
        compadd low medium high critical
    else
        compadd -- $options
    fi
}

_patchbay_hub() {
    _arguments \
@HUB_OPTIONS@
        '--help[prints the options]' '--version[prints the version]'
}

case $service in
patchbayd) _patchbay_hub ;;
*) _patchbay_client ;;
esac
